import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import hooksTest from "../../../lib/cli/hooks/test.ts";
import { serve } from "../../_server.ts";
import { CONFINED, FILES, guarded, testState, withHost } from "./_fake-host.ts";

testState([
  "reads the answer by a wrong key",
  "no effect",
  1,
  /ran the hook, which said deny: expected denied, found none/,
]);

test("the matrix shows each host, what the hook said, its effect and what the model read", CONFINED, async () => {
  using here = withHost();
  const { out, code } = await guarded(here);
  assert.equal(
    out,
    `hooks/pre-tool-use@Bash.guard.ts        rm -r build
host    version  channel  fired  hook said  effect  the model read
claude  1.0.0    Bash     1      deny       denied  NOT-THIS
no hook of claude sees a skill: a command that it runs as it is read (!\`…\`)
no hook of claude sees a slash command: a command that it runs as it is read (!\`…\`)
1 of 1 channel does what the hook says; network: none

held: 1 test
`,
  );
  assert.equal(code, 0);
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

test(
  "a call is made by every tool of a host that the matcher covers, and one that is not seen is broken",
  CONFINED,
  async () => {
    const file = "hooks/pre-tool-use@Bash+Edit+Write.secret.ts";
    const guard =
      `export default ({ input }) => /secret/.test(input.file_path ?? input.command) ? { action: "deny", reason: "NO" } : undefined;`;
    using here = withHost("asks hooks about its shell alone", { [file]: guard });
    const { out, code } = await here.call(
      hooksTest,
      file,
      "--set",
      "tool_input.file_path=secret.txt",
      "--in",
      "claude",
      "--json",
    );
    const { items: [{ runs, unseen }] } = JSON.parse(out);
    const shown = runs.map(({ channel, tool, state }: Record<string, string>) => `${tool} by ${channel}: ${state}`);
    // It has no Edit and starts no sub-agents; of a path that is set, no command is made.
    assert.deepEqual(shown, ["Write by Write: not fired"]);
    assert.equal(code, 1);
    assert.match(unseen.join("\n"), /^no hook of claude sees a skill: /);
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
  assert.match(
    await refused(file, "--in", "claude@1.0.1..1.0.9"),
    /Cannot test in the range claude@1\.0\.1\.\.1\.0\.9: name versions, as in --in claude@1\.0\.1,claude@1\.0\.9/,
  );
  assert.match(await refused(file, "--install"), /Cannot use --install without --in/);
  assert.match(await refused(file, file), /Cannot fire 2 hooks: name one file, or hosts with --in/);
  assert.match(await refused(file, "--in", "claude", "--watch"), /Cannot use --watch with --in/);
  assert.match(await refused("hooks/none.ts", "--in", "claude"), /there is no such file or folder/);
});
