import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { plainEvent } from "../../lib/cli/hook.ts";
import { hookCommand } from "../../lib/hooks/install.ts";
import { fromHost } from "../../lib/hooks/serving/from-host.ts";
import { scriptedServer } from "../../lib/testing/server.ts";
import { crochet } from "../_crochet.ts";
import { scratch } from "../_scratch.ts";

/** The same policy, "no rm", in each of the four kinds. */
const KINDS: Record<string, string> = {
  "pre-tool-use@Bash.module.ts": `import type { PreToolUseHook } from "crochet";
const hook: PreToolUseHook = ({ input }) => String(input.command).startsWith("rm") ? { action: "deny", reason: "No rm here" } : undefined;
export default hook;
`,
  "pre-tool-use@Bash.command.sh": `#!/bin/sh
grep -q '"command":"rm' && { echo "No rm here" >&2; exit 2; }
exit 0
`,
  "pre-tool-use@Bash.rules.rules": `args.command matches '^rm\\b' -> deny("No rm here")\n`,
  "pre-tool-use@Bash.prompt.prompt.md": `Is this harmless? {{args.command}}\n`,
};

/** One call, as each host tells it. */
const TOLD: Record<string, (command: string) => object> = {
  claude: (command) => ({
    session_id: "s",
    transcript_path: "/t.jsonl",
    cwd: "/",
    prompt_id: "p",
    permission_mode: "default",
    hook_event_name: "PreToolUse",
    tool_name: "Bash",
    tool_input: { command },
    tool_use_id: "toolu_1",
  }),
  codex: (command) => ({
    session_id: "s",
    turn_id: "t",
    transcript_path: null,
    cwd: "/",
    hook_event_name: "PreToolUse",
    model: "gpt",
    permission_mode: "default",
    tool_name: "Bash",
    tool_input: { command },
    tool_use_id: "call_1",
  }),
  gemini: (command) => ({
    session_id: "s",
    transcript_path: "/t.json",
    cwd: "/",
    hook_event_name: "BeforeTool",
    timestamp: "2026-01-01T00:00:00.000Z",
    tool_name: "run_shell_command",
    tool_input: { command },
  }),
};

const CODEX_KEYS = [
  "continue",
  "stopReason",
  "suppressOutput",
  "systemMessage",
  "decision",
  "reason",
  "hookSpecificOutput",
];

function assertRefused(
  host: string,
  kind: string,
  { out, err, code }: { out: string; err: string; code: number | null },
): void {
  // What was written for Claude Code is handed on to it as it is.
  if (host === "claude" && kind.includes("command")) {
    return assert.deepEqual({ out, err, code }, { out: "", err: "No rm here\n", code: 2 });
  }
  assert.equal(code, 0, err);
  assert.equal(out.trimEnd().split("\n").length, 1);
  const output = JSON.parse(out);
  if (host === "gemini") return assert.deepEqual(output, { decision: "deny", reason: "No rm here" });
  for (const key of Object.keys(output)) assert.ok(CODEX_KEYS.includes(key), key);
  const specific = { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: "No rm here" };
  assert.deepEqual(output, { hookSpecificOutput: specific });
}

for (const host of ["claude", "codex", "gemini"]) {
  for (const [name, text] of Object.entries(KINDS)) {
    test(`crochet hook ${name} refuses in the words of ${host}, and is silent where it has nothing to say`, async () => {
      using folder = scratch();
      const file = `${folder.path}/${name}`;
      writeFileSync(file, text);
      if (name.endsWith(".sh")) chmodSync(file, 0o755);
      const server = await scriptedServer([
        { text: '{"ok": false, "reason": "No rm here"}' },
        { text: '{"ok": true}' },
      ]);
      try {
        const env = { ANTHROPIC_API_KEY: "test", ANTHROPIC_BASE_URL: server.url, HOME: folder.path };
        const run = (command: string) =>
          crochet(["hook", file, "--dialect", host], {
            cwd: folder.path,
            env,
            stdin: JSON.stringify(TOLD[host]!(command)),
          });
        assertRefused(host, name, await run("rm -rf x"));
        assert.deepEqual(await run("ls"), { out: "", err: "", code: 0 });
      } finally {
        await server.close();
      }
    });
  }
}

test("crochet hook gives a script exactly the bytes Claude Code wrote, and hands all it says back", async () => {
  using folder = scratch();
  const file = `${folder.path}/stop.sh`;
  writeFileSync(
    file,
    `#!/bin/sh\ncat > ${folder.path}/given\nprintf '{"systemMessage":"hi"}'\necho words >&2\nexit 3\n`,
  );
  const stdin = `{"hook_event_name":"Stop",  "odd":"\u00e9\\u0000", "session_id":"s","cwd":"${folder.path}"}\n`;
  const exit = await crochet(["hook", file], { cwd: folder.path, stdin });
  assert.deepEqual(exit, { out: `{"systemMessage":"hi"}`, err: "words\n", code: 3 });
  assert.equal(readFileSync(`${folder.path}/given`, "utf8"), stdin);
});

test("crochet hook tells how it is called, and refuses what it is not", async () => {
  using folder = scratch();
  const run = (...args: string[]) =>
    crochet(["hook", ...args], { cwd: folder.path, stdin: `{"hook_event_name":"Stop"}` });
  const help = await run("--help");
  assert.equal(help.code, 0);
  assert.match(help.out, /crochet hook <file>[^]*--event <name>/);
  const cases: [string[], number, RegExp][] = [
    [[], 2, /Cannot serve 0 files/],
    [["a", "b"], 2, /Cannot serve 2 files/],
    [["a", "--dialekt", "x"], 2, /Cannot read --dialekt/],
    [["a", "--dialect", "cursor"], 2, /Cannot speak dialect 'cursor'.*expected claude, codex, gemini/],
    [["a", "--event"], 2, /--event as its value is missing/],
    [["none.ts"], 1, /none\.ts/],
  ];
  for (const [args, code, message] of cases) {
    const exit = await run(...args);
    assert.equal(exit.code, code, args.join(" "));
    assert.match(exit.err, message);
  }
});

test("crochet hook serves a file of any name as the event it is told", async () => {
  using folder = scratch();
  writeFileSync(`${folder.path}/check.ts`, `export default () => ({ action: "deny", reason: "not yet" });`);
  const at = (event: string[]) =>
    crochet(["hook", "check.ts", ...event], { cwd: folder.path, stdin: `{"hook_event_name":"Stop"}` });
  const named = await at(["--event", "stop"]);
  assert.deepEqual(JSON.parse(named.out), { decision: "block", reason: "not yet" });
  assert.equal((await at(["--event", "session-start"])).out, "");
  const bare = await at([]);
  assert.equal(bare.code, 1);
  assert.match(bare.err, /'check' is no event.*Or pass --event/);
});

test("crochet hook loses nothing of a long output, with or without a last line break", async () => {
  using folder = scratch();
  const size = 300_000;
  for (const end of ["", "echo"]) {
    const file = `${folder.path}/session-start.long.sh`;
    writeFileSync(file, `#!/bin/sh\nhead -c ${size} /dev/zero | tr '\\0' x\n${end}\n`);
    const stdin = JSON.stringify({ hook_event_name: "SessionStart", source: "startup", cwd: folder.path });
    const { out } = await crochet(["hook", file], { cwd: folder.path, stdin });
    assert.equal(out.length, end === "" ? size : size + 1);
  }
});

test("what a module is asked before the rest is loaded is the event the rest would make of it", async () => {
  const told = { ...TOLD.claude!("ls"), extra: 1 } as Record<string, unknown>;
  for (const file of ["pre-tool-use.x.ts", "/a b/pre-tool-use@Edit+Bash.x.mjs", "pre-tool-use@Bash.js"]) {
    const event = plainEvent(file, told) as unknown as Record<string, unknown>;
    const { timestamp: _stamp, ...early } = event;
    const heard = fromHost(told, "claude")!;
    const { session_id, agent_id, turn_id } = heard;
    assert.deepEqual(early as object, { ...heard.fired, event_id: "s:0", session_id, agent_id, turn_id });
    assert.ok(Object.isFrozen(event.input));
  }
  for (
    const file of [
      "stop.x.ts",
      "pre-tool-use@Edit.x.ts",
      "pre-tool-used.x.ts",
      "pre-tool-use@BashX.x.ts",
      "10-pre-tool-use.x.ts",
    ]
  ) {
    assert.equal(plainEvent(file, told), undefined, file);
  }
  assert.equal(plainEvent("pre-tool-use.x.ts", { ...told, agent_id: "a" }), undefined);
});

test("a module that is asked early has the whole context, and whatever it does with it counts", async () => {
  using folder = scratch();
  const env = { HOME: folder.path };
  const stdin = JSON.stringify({ ...TOLD.claude!("ls"), cwd: folder.path });
  const at = async (body: string) => {
    const file = `${folder.path}/pre-tool-use.x.ts`;
    writeFileSync(file, body);
    return await crochet(["hook", file], { cwd: folder.path, env, stdin });
  };
  const specific = ({ out }: { out: string }) => JSON.parse(out).hookSpecificOutput;
  assert.equal(specific(await at(`export default (_, ctx) => ctx.addContext("note");`)).additionalContext, "note");
  const ran = await at(
    `export default async (_, { $, sleep }) => {
      await sleep(1);
      return { action: "deny", reason: (await $("pwd")).stdout.trim() };
    };`,
  );
  assert.equal(specific(ran).permissionDecisionReason, folder.path);
  const thrown = await at(`export default () => { throw new Error("oh"); };`);
  assert.equal(specific(thrown).permissionDecisionReason, "oh");
  const late = await at(`export const config = { timeout: 0.1 }; export default () => new Promise(() => {});`);
  assert.match(specific(late).permissionDecisionReason, /longer than its limit of 0\.1 s/);
  const aborted = await at(`export default (_, ctx) => ctx.abort("enough");`);
  assert.equal(JSON.parse(aborted.out).stopReason, "enough");
  const stray = await at(`export default async (_, { sleep }) => {
    setTimeout(() => { throw new Error("late"); }, 1);
    Promise.reject(new Error("floating"));
    await sleep(20);
    return { action: "deny", reason: "no" };
  };`);
  assert.equal(specific(stray).permissionDecisionReason, "no");
  const logged = await at(`export default (_, ctx) => ctx.log("seen");`);
  assert.deepEqual(logged, { out: "", err: "pre-tool-use.x.ts: seen\n", code: 0 });
  const counting =
    `export default (_, { values }) => { values.set("n", (values.get("n") ?? 0) + 1); if (values.get("n") > 1) return { action: "deny", reason: "twice" }; };`;
  assert.equal((await at(counting)).out, "");
  assert.equal(specific(await at(counting)).permissionDecisionReason, "twice");
  const { out, err, code } = await at(`export default (_, { values }) => void values.set("big", 1n);`);
  assert.deepEqual([out, code], ["", 0]);
  assert.match(err, /^Cannot keep the value 'big' as /);
});

test("a module that would end the process fails, and what it guards is refused", async () => {
  const bodies = {
    asked: "export default () => process.exit(0);",
    loaded: "process.exit(0); export default () => {};",
    named: `import { exit } from "node:process"; export default async () => { await 1; exit(1); };`,
  };
  for (const [name, body] of Object.entries(bodies)) {
    using folder = scratch({ [`pre-tool-use.${name}.ts`]: body });
    const stdin = JSON.stringify({ ...TOLD.claude!("ls"), cwd: folder.path });
    const { out, err } = await crochet(["hook", `${folder.path}/pre-tool-use.${name}.ts`], { cwd: folder.path, stdin });
    assert.equal(JSON.parse(out).hookSpecificOutput.permissionDecision, "deny", name);
    assert.match(err, /Cannot call process\.exit\([01]\) in a hook as that ends the run: return a verdict/, name);
  }
});

test("what a module prints never stands before its answer, where a host would take that for words", async () => {
  const body = `import { say } from "./lib/say.ts";
console.log("loaded");
export default () => {
  console.log("looks"); console.info("at it"); console.table([1]); process.stdout.write("raw\\n");
  console.count("twice"); console.time("took"); console.timeEnd("took"); console.trace("from"); console.write?.("bit\\n");
  say("below");
  return { action: "deny", reason: "no" };
};`;
  const say = `import { stdout } from "node:process"; export const say = (words) => stdout.write(words + "\\n");`;
  using folder = scratch({ "pre-tool-use.x.ts": body, "stop.x.ts": body, "lib/say.ts": say });
  const told = { session_id: "s", cwd: folder.path, hook_event_name: "Stop", stop_hook_active: false };
  for (const [name, event] of [["pre-tool-use", TOLD.claude!("ls")], ["stop", told]] as const) {
    const stdin = JSON.stringify({ ...event, cwd: folder.path });
    const { out, err } = await crochet(["hook", `${folder.path}/${name}.x.ts`], { cwd: folder.path, stdin });
    assert.match(JSON.stringify(JSON.parse(out)), /"(?:deny|block)"/);
    for (const words of ["loaded", "looks", "at it", "raw", "below"]) assert.ok(err.includes(`${words}\n`), words);
    for (const words of ["twice: 1", "took: ", "from"]) assert.ok(err.includes(words), words);
  }
});

test("a module with a mistake in its config refuses what it guards, though it is asked early", async () => {
  using folder = scratch();
  const file = `${folder.path}/pre-tool-use.x.ts`;
  const stdin = JSON.stringify({ ...TOLD.claude!("ls"), cwd: folder.path });
  for (const config of [`{ timeout: "5" }`, `{ onError: "block" }`, `{ also: ["nope"] }`, `5`]) {
    writeFileSync(file, `export const config = ${config}; export default () => ({ action: "deny", reason: "no" });`);
    const { out, code } = await crochet(["hook", file], { cwd: folder.path, stdin });
    assert.match(
      out,
      /"permissionDecision":"deny".*Cannot load hook 'pre-tool-use\.x\.ts' as it has a mistake/,
      config,
    );
    assert.equal(code, 0);
  }
});

test("a hook guards on where the directory it is started in is gone", {
  ...("Deno" in globalThis && { skip: "Deno does not start there" }),
}, () => {
  const deny = `export default () => ({ action: "deny", reason: "no" });`;
  using folder = scratch({ "pre-tool-use.a.ts": deny, "pre-tool-use.b.rules": `tool equals "Bash" -> deny("no")` });
  const input = JSON.stringify({ ...TOLD.claude!("ls"), cwd: `${folder.path}/gone` });
  for (const name of ["pre-tool-use.a.ts", "pre-tool-use.b.rules"]) {
    const line = `mkdir gone && cd gone && rmdir ../gone && ${hookCommand(`${folder.path}/${name}`, "claude")}`;
    const { stdout, stderr } = spawnSync("/bin/sh", ["-c", line], { cwd: folder.path, input, encoding: "utf8" });
    assert.match(stdout, /"permissionDecision":"deny"/, stderr);
  }
});

test("a module is not run for what its config rules out", async () => {
  using folder = scratch();
  const mark = `${folder.path}/ran`;
  const file = `${folder.path}/pre-tool-use.x.ts`;
  const stdin = JSON.stringify({ ...TOLD.claude!("ls"), cwd: folder.path });
  for (
    const [config, runs] of [[`{ matcher: "^Edit" }`, false], [`{ scope: "sub" }`, false], [
      `{ mode: "observe" }`,
      true,
    ]] as const
  ) {
    writeFileSync(
      file,
      `import { writeFileSync } from "node:fs"; export const config = ${config};
       export default () => { writeFileSync(${JSON.stringify(mark)}, "x"); return { action: "deny", reason: "no" }; };`,
    );
    const { out } = await crochet(["hook", file], { cwd: folder.path, stdin });
    assert.equal(out, "", config);
    assert.equal(existsSync(mark), runs, config);
  }
});
