import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { welcome } from "../../lib/cli/_welcome.ts";
import { main } from "../../lib/cli/main.ts";
import { trust } from "../../lib/hooks/hook-trust.ts";
import { scriptedServer } from "../../lib/testing/server.ts";
import { BOTH_RUNTIMES, oneIsMissing } from "../_both-runtimes.ts";
import { ended } from "../_crochet.ts";
import { place } from "../_place.ts";

test("crochet alone says what it is, what it found and what to type next, in plain text on a pipe", async () => {
  using here = place();
  const { out, code } = await here.call(main);
  assert.equal(code, 0);
  assert.match(out, /^crochet \d+\.\d+\.\d+: .*\n\nFound in .*project\n/);
  assert.match(out, /agent +none[^]*hooks +none[^]*fixtures +none[^]*key +ANTHROPIC_API_KEY is not set/);
  assert.deepEqual(next(out), ["crochet init", "crochet doctor", "crochet hooks add"]);
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(out, /\u001b/);
});

test("crochet alone counts what is there, and offers the commands that fit it", async () => {
  using here = place({
    "agent.ts": `import { agent } from "crochet";\nexport default agent({ from: import.meta.url });\n`,
    "other.ts": "export {};\n",
    "hooks/stop.ts": "export default () => undefined;\n",
    "hooks/_shared.ts": "export {};\n",
    "hooks/pre-tool-use@Bash.x.sh": "#!/bin/sh\n",
    ".claude/settings.json": "{}",
    "fixtures/one/tape.jsonl": "",
  });
  const call = () => here.call(main);
  const before = (await call()).out;
  assert.match(before, /agent +agent\.ts\n/);
  assert.match(before, /hooks +2 in hooks\/ \(untrusted\), \.claude\/settings\.json \(untrusted\)\n/);
  assert.match(before, /fixtures +1\n/);
  assert.deepEqual(next(before), ["crochet trust", "crochet replay", "crochet hooks"]);
  trust(here.cwd, here.env);
  here.env.ANTHROPIC_API_KEY = "sk-secret";
  const after = (await call()).out;
  assert.match(after, /hooks +2 in hooks\/, \.claude\/settings\.json\n/);
  assert.deepEqual(next(after), ["crochet replay", 'crochet run agent.ts "say hello"', "crochet hooks"]);
  assert.doesNotMatch(after, /sk-secret/);
});

test("crochet alone offers to check the hooks of Claude Code, if there are any and the command is here", async () => {
  const check = "crochet hooks check .claude/settings.json";
  using here = place({ ".claude/settings.json": '{ "hooks": { "Stop": [] } }' });
  assert.deepEqual(next((await here.call(main)).out), ["crochet init", "crochet trust", check]);
  const without = await here.call(async (_, io) => await welcome(undefined, io, ["init", "trust", "hooks"]));
  assert.deepEqual(next(without.out), ["crochet init", "crochet trust", "crochet hooks add"]);
  using none = place({ ".claude/settings.json": "{}" });
  assert.ok(!next((await none.call(main)).out).includes(check));
});

test("crochet --json and --version print data alone", async () => {
  using here = place();
  mkdirSync(`${here.cwd}/hooks`);
  const told = await here.call(main, "--json");
  const { version, agents, hooks, key } = JSON.parse(told.out);
  assert.deepEqual([agents, hooks, key], [[], 0, false]);
  assert.equal((await here.crochet(["--version"])).out, `${version}\n`);
});

for (
  const [typed, meant] of [
    [["rnu"], "'crochet run'"],
    [["hoks"], "'crochet hooks'"],
    [["--hlep"], "'crochet --help'"],
    [["hooks", "lst"], "'crochet hooks ls'"],
    [["fixtures", "shwo"], "'crochet fixtures show'"],
    [["agents", "lss"], "'crochet agents ls'"],
    [["run", "--modle", "x"], "--model"],
    [["replay", "--verfy"], "--verify"],
    [["hook", "x", "--dialekt"], "--dialect"],
    [["agent", "settings", "x", "--workspce", "y"], "--workspace"],
    [["doctor", "--jsn"], "--json"],
    [["run", "-z"], "--on"],
    [["replay", "--bisect", "v1"], "'git bisect run crochet replay'"],
    [["replay", "--here"], "'crochet record --files none'"],
    [["replay", "--mcp", "live"], "'crochet record --mcp live'"],
    [["replay", "--tools", "loose"], "'crochet record --loose'"],
    [["init", "--upgrade"], "'npm install ./crochet-VERSION.tgz'"],
    [["replay", "--watch"], "'bun test --watch'"],
    [["doctor", "--replay"], "'crochet replay'"],
    [["view", "--open"], "'crochet view --out FILE'"],
    [["attack", "--only", "7"], "'crochet replay'"],
    [["hooks", "install", "--runtime", "bun"], "'crochet hooks install --for claude'"],
    [["hooks", "test", "x", "--bisect"], "'crochet hooks test --in claude@2.1.286,claude@2.1.325'"],
    [["hooks", "check", "--rounds", "9"], "'crochet hooks check --time SECONDS'"],
    [["run", "--rollout", "log.jsonl", "hi"], "'crochet view'"],
    [["chat", "--rollout", "log.jsonl"], "'crochet view'"],
    [["hooks", "uninstall", "--runtime", "bun"], "'crochet hooks uninstall --for claude'"],
    [["transcripts", "ls"], "'crochet runs'"],
    [["runs", "export", "last"], "'crochet runs show --json'"],
    [["runs", "checkpoints", "last"], "'crochet runs show'"],
  ] as const
) {
  test(`'crochet ${typed.join(" ")}' is refused with what was meant, exit code 2`, async () => {
    using here = place();
    const { code, out, err } = await here.call(main, ...typed);
    assert.deepEqual([code, out], [2, ""]);
    assert.match(err, /^crochet: Unknown (command|flag) [^\n]*\n$/);
    assert.ok(err.endsWith(`did you mean ${meant}?\n`), err);
  });
}

function next(screen: string): string[] {
  const [, list = ""] = /\nNext\n([^]*?)\n\n/.exec(screen) ?? [];
  return list.split("\n").map((line) => line.trim().split(/\s{2,}/)[0]!);
}

for (const [program, ...args] of BOTH_RUNTIMES) {
  const script = fileURLToPath(new URL("../../fixtures/hello/agent.ts", import.meta.url));
  const runtime = program.split("/").at(-1);
  test(`DESIGN 4: the hello world runs as a script under ${runtime}`, { skip: oneIsMissing }, async () => {
    using here = place();
    await using server = await scriptedServer([{ text: "Hello there" }]);
    const env = { HOME: here.home, ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: server.url };
    const words = [program, ...args, script, "say", "hello"] as const;
    const { code, out } = await ended(words, { cwd: here.cwd, env });
    assert.deepEqual([code, out, server.requests.length], [0, "Hello there\n", 1]);
  });
}
