import assert from "node:assert/strict";
import { chmodSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import hooksTest from "../../../lib/cli/hooks/test.ts";
import type { Place } from "../../_place.ts";
import { CONFINED, fakeHost, GUARD, guarded, RM, type StateRow, testState, withHost } from "./_fake-host.ts";

const TABLE: readonly StateRow[] = [
  ["none", "ok", 0],
  ["drops entries with a matcher", "not fired", 1, /claude 1\.0\.0 asked the model 2 times and ran no hook/],
  ["renames an event", "not fired", 1, /ran no hook at pre-tool-use/],
  ["refuses in words of its own", "no effect", 1, /refused the call in other words than the hook's/],
  ["ends before it asks", "never asked", 3, /ended with 1 and never asked the model: no model for you/],
  ["asks with a wrong key", "refused", 3, /asked for something the scripted model refuses: messages\.0\.name/],
  ["dies after it asked", "crashed", 3, /died by SIGKILL after 1 request$/],
  ["ends with an error", "crashed", 3, /ended with 7 after 1 request/],
  ["hangs after it asked", "out of time", 3, /was ended after \d+ s; it had asked the model once/],
  ["runs no calls", "control differs", 3, /does not run the call without the hook either: nothing is shown/],
];

for (const row of TABLE) testState(row);

test(
  "a hook whose name says no event is tested at --event, and one that only looks is expected to do nothing",
  CONFINED,
  async () => {
    const looks =
      `export const config = { mode: "observe" };\nexport default () => ({ action: "deny", reason: "NOT-HEARD" });`;
    using here = withHost("none", { "guard.ts": GUARD, "hooks/pre-tool-use@Bash.look.ts": looks });
    const named = await here.call(hooksTest, "guard.ts", "--event", "pre-tool-use@Bash", ...RM, "--in", "claude");
    assert.match(named.out, /^guard\.ts {8}rm -r build\n.*\nclaude .* denied {2}NOT-THIS/);
    assert.equal(named.code, 0, named.err);
    const looked = await here.call(hooksTest, "hooks", ...RM, "--in", "claude");
    assert.match(looked.out, /claude {2}1\.0\.0 {4}Bash {5}1 .* none {4}–\n[^]*^1 of 1/m);
    assert.equal(looked.code, 0, looked.out);
  },
);

test("each tool is called in a project without the files of the other calls", CONFINED, async () => {
  const guard =
    `export default ({ input }) => /secret/.test(input.file_path) ? { action: "deny", reason: "NO" } : undefined;`;
  using here = withHost("reads files, too", { "hooks/pre-tool-use.guard.ts": guard });
  for (const set of [[], ["--set", "tool_input.file_path=secret.txt"]]) {
    const kept = join(dirname(here.cwd), `kept-${set.length}`);
    const args = ["hooks/pre-tool-use.guard.ts", ...set, "--in", "claude", "--json", "--keep", kept];
    const { out, code } = await here.call(hooksTest, ...args);
    const { items: [{ runs }] } = JSON.parse(out);
    const shown = runs.map(({ tool, effect, state }: Record<string, string>) => `${tool} ${effect} ${state}`);
    const effect = set.length > 0 ? "denied" : "none";
    assert.deepEqual(shown.filter((row: string) => /^(Write|Read)/.test(row)), [
      `Write ${effect} ok`,
      `Read ${effect} ok`,
    ]);
    assert.equal(code, 0);
    const [room = ""] = readdirSync(kept);
    assert.ok(!readdirSync(join(kept, room, "project")).includes("secret.txt"));
  }
});

/** An npm that knows nine versions of the fake host; from 1.0.6 on it does not read answers. It writes down its words. */
function fakeNpm(here: Place, scripts = false): () => string[] {
  const bin = join(dirname(here.cwd), "npm");
  const [good, bad, broken] = ["good", "bad", "broken"].map((name) => join(bin, name)) as [string, string, string];
  fakeHost(good, "none", "VERSION");
  fakeHost(bad, "reads the answer by a wrong key", "VERSION");
  fakeHost(broken, "none", "no version");
  const text = `#!/bin/sh
echo "$*" >>'${bin}/words'
case "$1 $3" in
"view versions") echo '["1.0.1","1.0.2","1.0.3","1.0.4","1.0.5","1.0.6","1.0.7","1.0.8","1.0.9","2.0.0-rc"]' ;;
"view version") echo 1.0.9 ;;
install*)
  for word; do case $word in @anthropic-ai/claude-code@*) version=\${word##*@} ;; esac; done
  from='${good}'
  case $version in 1.0.[6-9]) from='${bad}' ;; esac
  ${scripts ? `case "$*" in *--ignore-scripts*) from='${broken}' ;; esac` : ""}
  to=$3/node_modules/.bin
  mkdir -p "$to"
  cp "$from/host.mjs" "$to/host.mjs"
  sed "s#VERSION#$version#; s#$from/host.mjs#$to/host.mjs#" "$from/claude" >"$to/claude"
  chmod 755 "$to/claude" ;;
esac
`;
  writeFileSync(join(bin, "npm"), text);
  chmodSync(join(bin, "npm"), 0o755);
  here.env.PATH = `${bin}:${process.env.PATH}`;
  return () => existsSync(join(bin, "words")) ? readFileSync(join(bin, "words"), "utf8").trim().split("\n") : [];
}

test(
  "versions come from npm only with --install, and stay in the cache",
  CONFINED,
  async () => {
    using here = withHost();
    const words = fakeNpm(here);
    const tried = async (hosts: string, ...more: string[]) => {
      const { out, code } = await here.call(
        hooksTest,
        "hooks/pre-tool-use@Bash.guard.ts",
        ...RM,
        "--json",
        "--in",
        hosts,
        ...more,
      );
      const runs = JSON.parse(out).items.map(({ runs: [run] }: { runs: { version: string; state: string }[] }) => run);
      return { code, runs: runs.map((run: { version: string; state: string }) => `${run.version} ${run.state}`) };
    };
    assert.deepEqual(await tried("claude@1.0.1"), { code: 3, runs: ["1.0.1 not installed"] });
    assert.deepEqual(words(), []);
    assert.deepEqual(await tried("claude@1.0.1,claude@1.0.5,claude@1.0.9", "--install"), {
      code: 1,
      runs: ["1.0.1 ok", "1.0.5 ok", "1.0.9 no effect"],
    });
    assert.ok(words().some((line) => /^install .*--ignore-scripts @anthropic-ai\/claude-code@1\.0\.5$/.test(line)));
    const before = words().length;
    assert.deepEqual((await tried("claude")).runs, ["1.0.9 no effect"]);
    assert.deepEqual((await tried("claude@1.0.1,claude@1.0.5")).runs, ["1.0.1 ok", "1.0.5 ok"]);
    assert.equal(words().length, before, "what is in the cache needs no npm");
    assert.deepEqual((await tried("claude@newest", "--install")).runs, ["1.0.9 no effect"]);
  },
);

test("another version than was asked for cannot run: exit code 2", CONFINED, async () => {
  using here = withHost();
  fakeHost(join(here.env.CROCHET_HOSTS!, "claude/1.0.5/node_modules/.bin"), "none", "1.0.6");
  const { out, code } = await here.call(hooksTest, "hooks/pre-tool-use@Bash.guard.ts", ...RM, "--in", "claude@1.0.5");
  assert.equal(code, 2, out);
  assert.match(out, /Cannot test in claude@1\.0\.5 as the program there says that it is 1\.0\.6/);
});

const SENDS_BACK = '#!/bin/sh\ncase "$(cat)" in *\'active":true\'*) exit 0 ;; esac\necho GO-ON >&2\nexit 2\n';

test("a command Stop hook with exit 2 is ok where the agent was sent back with its words", CONFINED, async () => {
  using here = withHost("none", { "hooks/stop.tested.sh": SENDS_BACK });
  chmodSync(join(here.cwd, "hooks/stop.tested.sh"), 0o755);
  const { out, code } = await here.call(hooksTest, "hooks/stop.tested.sh", "--in", "claude");
  assert.equal(code, 0, out);
  assert.match(out, /claude {2}1\.0\.0 {4}\d {6}.*sent back {2}.*GO-ON/);
});

test("a version that does not start without its install scripts is installed again with them", CONFINED, async () => {
  using here = withHost();
  const words = fakeNpm(here, true);
  const { out } = await guarded({ ...here } as Place, "--install", "--json");
  assert.equal(JSON.parse(out).items[0].runs[0].state, "no effect");
  assert.deepEqual(
    words().filter((line) => line.startsWith("install")).map((line) => line.includes("--ignore-scripts")),
    [true, false],
  );
});

test("a hook that has nothing to say to a call has no effect, and that is what it says", CONFINED, async () => {
  using here = withHost();
  const { out, code } = await here.call(hooksTest, "hooks/pre-tool-use@Bash.guard.ts", "--in", "claude");
  assert.match(out, /claude {2}1\.0\.0 {4}Bash {5}1 {6}continue {3}none/);
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

test("hooks of settings are fired in a host too, each with the scripts that it names", CONFINED, async () => {
  const line = 'sh "$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh';
  using here = withHost("none", {
    ".claude/settings.json": JSON.stringify({
      hooks: {
        PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command: line }] }],
        Stop: [{ hooks: [{ type: "prompt", prompt: "ok?" }] }],
      },
    }),
    ".claude/hooks/guard.sh": "cat >/dev/null\n. .claude/hooks/words.sh\n",
    ".claude/hooks/words.sh": "echo FROM-BESIDE >&2\nexit 2\n",
  });
  const { out, code } = await here.call(hooksTest, ".claude/settings.json", "--in", "claude", "--json");
  const { items, left } = JSON.parse(out);
  const shown = items.map(({ name, word }: { name: string; word: string }) => `${word}: ${name}`);
  assert.deepEqual(shown.sort(), [
    "held: .claude/settings.json#0 pre-tool-use@Bash.guard.sh in claude",
  ]);
  assert.deepEqual(left.map(({ name }: { name: string }) => name), [".claude/settings.json#1 hooks.Stop[0].hooks[0]"]);
  assert.equal(code, 0);
  const [run] = items.flatMap(({ runs = [] }) => runs);
  assert.match(run.read, /FROM-BESIDE/);
});
