import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { absoluteLine } from "../../lib/hooks/install-line.ts";
import { scriptedServer } from "../../lib/testing/server.ts";
import { CROCHET, crochet } from "../_crochet.ts";
import { scratch } from "../_scratch.ts";
import { isAlive, until } from "../_until.ts";

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
    test(`crochet hook ${name} refuses in the words of ${host}, and is silent if it has nothing to say`, async () => {
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

test("what a hook has started ends when the host ends crochet hook", async () => {
  const hook = `export default (_, ctx) => ctx.$("sh", ["-c", 'echo $$ > pid.new; mv pid.new pid; exec sleep 300']);\n`;
  // Before a call a module is asked before the rest is loaded.
  for (const [name, hook_event_name] of [["stop", "Stop"], ["pre-tool-use", "PreToolUse"]]) {
    using folder = scratch({ [`${name}.ts`]: hook });
    const [program, ...args] = CROCHET;
    const asked = spawn(program, [...args, "hook", `${folder.path}/${name}.ts`], { cwd: folder.path });
    asked.stdin.end(JSON.stringify({ hook_event_name, session_id: "s", cwd: folder.path, tool_name: "Bash" }));
    await until("the hook has started its command", () => existsSync(`${folder.path}/pid`));
    asked.kill("SIGTERM");
    await until(`the command of ${name} has ended`, () => !isAlive(`${folder.path}/pid`));
    await until("it has ended itself", () => asked.exitCode !== null || asked.signalCode !== null);
  }
});

test("crochet hook shows its usage, and refuses wrong arguments", async () => {
  using folder = scratch();
  const run = (...args: string[]) =>
    crochet(["hook", ...args], { cwd: folder.path, stdin: `{"hook_event_name":"Stop"}` });
  const help = await run("--help");
  assert.equal(help.code, 0);
  assert.match(help.out, /crochet hook <file>[^]*--event <name>/);
  const cases: [string[], number, RegExp][] = [
    [[], 2, /Cannot serve 0 files/],
    [["a", "b"], 2, /Cannot serve 2 files/],
    [["a", "--dialekt", "x"], 2, /Unknown flag --dialekt/],
    [["a", "--dialect", "windsurf"], 2, /Unknown host 'windsurf'.*expected claude, codex, gemini/],
    [["a", "--event"], 2, /--event has no value/],
    [["none.ts"], 1, /none\.ts/],
  ];
  for (const [args, code, message] of cases) {
    const exit = await run(...args);
    assert.equal(exit.code, code, args.join(" "));
    assert.match(exit.err, message);
  }
});

test("crochet hook serves a file of any name as the event of --event", async () => {
  using folder = scratch();
  writeFileSync(`${folder.path}/check.ts`, `export default () => ({ action: "deny", reason: "not yet" });`);
  const at = (event: string[]) =>
    crochet(["hook", "check.ts", ...event], { cwd: folder.path, stdin: `{"hook_event_name":"Stop"}` });
  const named = await at(["--event", "stop"]);
  assert.deepEqual(JSON.parse(named.out), { decision: "block", reason: "not yet" });
  assert.equal((await at(["--event", "session-start"])).out, "");
  const bare = await at([]);
  assert.equal(bare.code, 1);
  assert.match(bare.err, /'check' is not an event.*Or pass --event/);
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

test("a hook still guards if the directory it is started in is gone", {
  ...("Deno" in globalThis && { skip: "Deno does not start there" }),
}, () => {
  const deny = `export default () => ({ action: "deny", reason: "no" });`;
  using folder = scratch({ "pre-tool-use.a.ts": deny, "pre-tool-use.b.rules": `tool equals "Bash" -> deny("no")` });
  const input = JSON.stringify({ ...TOLD.claude!("ls"), cwd: `${folder.path}/gone` });
  for (const name of ["pre-tool-use.a.ts", "pre-tool-use.b.rules"]) {
    const line = `mkdir gone && cd gone && rmdir ../gone && ${absoluteLine(`${folder.path}/${name}`, "claude")}`;
    const { stdout, stderr } = spawnSync("/bin/sh", ["-c", line], { cwd: folder.path, input, encoding: "utf8" });
    assert.match(stdout, /"permissionDecision":"deny"/, stderr);
  }
});
