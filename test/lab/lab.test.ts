import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import hooksTest from "../../lib/cli/hooks/test.ts";
import { serve } from "../_server.ts";
import { CONFINED, FILES, guarded, RM, type StateRow, testState, withHost } from "./_fake-host.ts";

const TABLE: readonly StateRow[] = [
  ["none", "ok", 0],
  ["reads the answer by a wrong key", "no effect", 1, /ran the hook, which said deny: expected denied, found none/],
  ["drops entries with a matcher", "not fired", 1, /claude 1\.0\.0 asked the model 2 times and ran no hook/],
  ["renames an event", "not fired", 1, /ran no hook at pre-tool-use/],
  ["ends before it asks", "never asked", 3, /ended with 1 and never asked the model: no model for you/],
];

for (const row of TABLE) testState(row);

test("the matrix shows each host, what the hook said, its effect and what the model read", CONFINED, async () => {
  using here = withHost();
  const { out, code } = await guarded(here);
  assert.equal(
    out,
    `hooks/pre-tool-use@Bash.guard.ts        rm -r build
host    version  fired  hook said  effect  the model read
claude  1.0.0    1      deny       denied  NOT-THIS
1 of 1 host does what the hook says; network: none

`,
  );
  assert.equal(code, 0);
});

test("a hook that has nothing to say to a call has no effect, and that is what it says", CONFINED, async () => {
  using here = withHost();
  const { out, code } = await here.call(hooksTest, "hooks/pre-tool-use@Bash.guard.ts", "--in", "claude");
  assert.match(out, /claude {2}1\.0\.0 {4}1 {6}continue {3}none/);
  assert.equal(code, 0);
});

test(
  "a folder is tested file by file, --junit has a case of each, and a fault wins over what could not be seen",
  CONFINED,
  async () => {
    using here = withHost("renames an event");
    const { out, code } = await here.call(hooksTest, "hooks", ...RM, "--in", "claude,codex", "--junit", "lab.xml");
    assert.match(out, /stop\.again\.ts\n.*\nclaude .* sent back {2}GO-ON/);
    assert.match(out, /– Cannot test in codex as it is not installed: add --install/);
    const xml = readFileSync(join(here.cwd, "lab.xml"), "utf8");
    assert.match(xml, /tests="4" failures="1" errors="2"/);
    assert.equal(code, 1);
  },
);

test("an example beside the hook chooses the call, and its files are in the project", CONFINED, async () => {
  using here = withHost("none", {
    "hooks/pre-tool-use@Bash.guard.sh": `#!/bin/sh\n[ -f locked ] && { echo LOCKED >&2; exit 2; }\nexit 0\n`,
    "hooks/pre-tool-use@Bash.guard.examples.yaml":
      `- expect: continue\n- event: { tool_input: { command: rm -r locked } }\n  given: { locked: "" }\n  expect: deny\n`,
  });
  const { out, err, code } = await here.call(hooksTest, "hooks/pre-tool-use@Bash.guard.sh", "--in", "claude");
  assert.equal(err, "");
  assert.match(out, /guard\.sh {8}rm -r locked\n.*\nclaude .* denied {2}LOCKED/);
  assert.equal(code, 0);
});

test("without bubblewrap no call is made, and an event without one is tried by proxy", async () => {
  using here = withHost();
  const bin = join(dirname(here.cwd), "bin");
  for (const name of ["sh", "cat", "mktemp"]) symlinkSync(`/bin/${name}`, join(bin, name));
  const crochet = (...args: string[]) => here.crochet(["hooks", "test", ...args, "--in", "claude"], { PATH: bin });
  const call = await crochet("hooks/pre-tool-use@Bash.guard.ts", ...RM);
  assert.match(call.out, /– not measured: needs bubblewrap\n/);
  assert.equal(call.code, 3, call.err);
  const stop = await crochet("hooks/stop.again.ts");
  assert.match(stop.out, /claude .* 1 .* deny .* sent back {2}GO-ON\n.*network: by proxy/);
  assert.equal(stop.code, 0, stop.err);
});

test(
  "a session never reaches the person's files, keys or network, and the call it guards runs in it alone",
  CONFINED,
  async () => {
    let reached = 0;
    using server = await serve((_, response) => void response.end(String(++reached)));
    using here = withHost("none", {
      ...FILES,
      "hooks/pre-tool-use@Bash.look.sh": `#!/bin/sh
echo "key=$PERSONS_KEY home=$(ls "$PERSONS_HOME" 2>/dev/null) url=$(curl -s --max-time 2 ${server.url})" >seen.txt
echo x >/outside-of-it 2>/dev/null && echo written >>seen.txt
exit 0
`,
    });
    here.env.PERSONS_KEY = "secret";
    const person = join(dirname(here.cwd), "home");
    writeFileSync(join(person, "diary.txt"), "mine");
    const outside = join(dirname(here.cwd), "outside");
    mkdirSync(outside);
    const kept = join(dirname(here.cwd), "kept");
    const set = `tool_input.command=rm -rf ${outside} ${person}`;
    const { code, err } = await here.call(
      hooksTest,
      "hooks/pre-tool-use@Bash.look.sh",
      "--set",
      set,
      "--in",
      "claude",
      "--keep",
      kept,
    );
    assert.equal(code, 0, err);
    // The first one was fired here, as 'hooks test' does.
    assert.deepEqual([existsSync(outside), readdirSync(person), reached], [true, ["diary.txt"], 1]);
    const [room = ""] = readdirSync(kept);
    const session = join(kept, room, "claude-1.0.0-hooked");
    assert.equal(readFileSync(join(session, "project/seen.txt"), "utf8"), "key= home= url=\n");
    const words = readdirSync(join(session, "log")).filter((name) => name.startsWith("shell-"))
      .map((name) => readFileSync(join(session, "log", name), "utf8"));
    assert.ok(words.some((text) => text.includes(`rm -rf ${outside}`)), "the call ran, in the sandbox");
  },
);

test("what cannot be asked is refused before anything is started", async () => {
  using here = withHost();
  const refused = async (...args: string[]) => {
    const { err, code } = await here.call(hooksTest, ...args);
    assert.equal(code, 2, err);
    return err;
  };
  const file = "hooks/stop.again.ts";
  assert.match(
    await refused(file, "--in", "claud"),
    /Cannot test in 'claud' as that host is not known: did you mean 'claude'\?/,
  );
  assert.match(await refused(file, "--in", "cursor"), /Cannot test in cursor as it is on no registry/);
  assert.match(await refused(file, "--install"), /Cannot use --install without --in/);
  assert.match(await refused(file, file), /Cannot fire 2 hooks: name one file, or hosts with --in/);
  assert.match(await refused(file, "--in", "claude", "--watch"), /Cannot use --watch with --in/);
  assert.match(await refused("hooks/none.ts", "--in", "claude"), /there is no such file or folder/);
});
