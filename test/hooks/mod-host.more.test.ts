import assert from "node:assert/strict";
import { appendFileSync, chmodSync, cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { install } from "../../lib/cli/hooks/install.ts";
import { scriptedServer } from "../../lib/testing/server.ts";
import { ended } from "../_crochet.ts";
import { noSandbox } from "../_needs.ts";
import { type Place, place } from "../_place.ts";
import { put } from "../_scratch.ts";
import { CASES, installMod, type ModCase } from "./_mod.ts";
import { hostProgram } from "./_real-hosts.ts";
import { SHIPPED } from "./shipped/_shipped.ts";

const PACKAGE = "@anthropic-ai/claude-code@2.1.325";
const FOLDER = process.env.CROCHET_TEST_HOSTS ?? join(tmpdir(), "crochet-test-hosts");

const SKIP = !process.env.CROCHET_TEST_LONG
  ? { skip: "real hosts run in test:long" }
  : "Deno" in globalThis
  ? { skip: "the program is the same under both runtimes" }
  : {};

const claude = "skip" in SKIP ? undefined : hostProgram(join(FOLDER, "claude"), [PACKAGE], "claude");
const NEEDED = "skip" in SKIP ? SKIP : claude === undefined ? { skip: `${PACKAGE} cannot be installed` } : {};

/** An MCP server "s" with a tool "echo", in JSON lines on stdin and stdout. */
const SERVER = `
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: "echo", inputSchema: { type: "object" } }] }),
  "tools/call": ({ arguments: given }) => ({ content: [{ type: "text", text: JSON.stringify(given) }] }),
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method]?.(params) ?? {} }));
});
`;

/** Managed settings lie in a folder of the machine: the program gets an /etc that has it. */
function managed(here: Pick<Place, "home">, settings: object): string[] {
  put(here.home, { "managed/managed-settings.json": JSON.stringify(settings) });
  const kept = readdirSync("/etc").filter((name) => name !== "claude-code")
    .flatMap((name) => ["--ro-bind-try", `/etc/${name}`, `/etc/${name}`]);
  return ["bwrap", "--dev-bind", "/", "/", "--tmpfs", "/etc", ...kept]
    .concat("--ro-bind", join(here.home, "managed"), "/etc/claude-code", "--");
}

/** Plays a case in Claude Code, with a model on 127.0.0.1. */
async function play(
  here: Pick<Place, "cwd" | "home">,
  mod: string | undefined,
  { model, subagent = [], ...given }: ModCase,
  more = {},
) {
  const state = { hasCompletedOnboarding: true, projects: { [here.cwd]: { hasTrustDialogAccepted: true } } };
  put(here.home, { ".claude.json": JSON.stringify(state), "s.cjs": SERVER });
  const [steps, below] = [[...model], [...subagent]];
  const asked: string[] = [];
  let requests = 0;
  await using server = await scriptedServer([], {
    then: ({ messages, tools = [] }) => {
      if (tools.length === 0) return { text: "ok" };
      asked.push(JSON.stringify(messages));
      if (JSON.stringify(messages[0]).includes("SUBTASK")) return below.shift() ?? { text: "done" };
      requests++;
      return steps.shift() ?? { text: "done" };
    },
  });
  const servers = { mcpServers: { s: { command: "node", args: [join(here.home, "s.cjs")] } } };
  const args = ["-p", "go", "--model", "claude-sonnet-4-5"]
    .concat(mod === undefined ? [] : ["--plugin-dir", mod])
    .concat(given.allowedTools ? ["--allowedTools", given.allowedTools] : [])
    .concat(given.mcp ? ["--mcp-config", JSON.stringify(servers)] : []);
  const env = {
    ...{ HOME: here.home, PATH: `${dirname(claude!)}:${process.env.PATH}`, ...more },
    ...{ ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "test" },
    ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1" },
  };
  const by = given.managedSettings ? managed(here, given.managedSettings) : [];
  const [program, ...words] = [...by, claude!, ...args];
  const { code, out, err } = await ended([program!, ...words], { cwd: here.cwd, env });
  const path = join(here.cwd, "made.txt");
  const made = existsSync(path) ? readFileSync(path, "utf8").trim() : null;
  return { code, out, made, requests, read: asked.join("\n"), shown: `${out}\n${err}\n${asked.at(-1)?.slice(-2000)}` };
}

function caseFiles({ hooks }: Pick<ModCase, "hooks">): Record<string, string> {
  return Object.fromEntries(Object.entries(hooks).map(([name, text]) => [`hooks/${name}`, text]));
}

for (const given of CASES) {
  const skip = given.managedSettings && noSandbox ? { skip: noSandbox } : NEEDED;
  test(`in Claude Code a mod does as the case ${given.id} says`, skip, async () => {
    using here = place(caseFiles(given));
    for (const name of Object.keys(given.hooks).filter((name) => name.endsWith(".sh"))) {
      chmodSync(join(here.cwd, "hooks", name), 0o755);
    }
    const mod = await installMod(here);
    let more = {};
    if (given.given) {
      appendFileSync(join(mod, "hooks/register.js"), "import('x');\n");
      const [variable] = /CROCHET_MOD_\w+/.exec(readFileSync(join(mod, "hooks/hooks.json"), "utf8"))!;
      more = { [variable]: "11111111-2222-3333-4444-555555555555" };
    }
    const { code, out, made, requests, read, shown } = await play(here, mod, given, more);
    const { expect } = given;
    assert.equal(code, 0, shown);
    if (expect.made !== undefined) assert.equal(made, expect.made, shown);
    if (expect.requests !== undefined) assert.equal(requests, expect.requests, shown);
    for (const words of expect.reads ?? []) assert.ok(read.includes(words), `${words}\n${shown}`);
    if (expect.stdout !== undefined) assert.ok(out.includes(expect.stdout), shown);
  });
}

/** A case that asks for commands, one after the other. */
function commands(hooks: ModCase["hooks"], ...lines: string[]): ModCase {
  const model = [...lines.map((command) => ({ tools: [{ name: "Bash", input: { command } }] })), { text: "done" }];
  return { id: "", event: "", hooks, model, allowedTools: "Bash", expect: {} };
}

test("every kind of hook decides in Claude Code, and what a hook waits for is not its own time", NEEDED, async () => {
  const given = commands(
    {
      "pre-tool-use@Bash.a.rules": `args.command contains "RULE" -> deny("RULE-NO")`,
      "pre-tool-use@Bash.b.prompt.md": "---\nonError: deny\n---\nAnswer about {{args.command}}",
      "pre-tool-use@Bash.c.sh": `grep -q '"command":"SH"' && { echo "SH-NO $CLAUDE_PROJECT_DIR" >&2; exit 2; }; exit 0`,
      "pre-tool-use@Bash.e.ts": `export default ({ input }) =>
        input.command === "TS" ? { action: "deny", reason: "TS-NO" } : undefined;`,
      "pre-tool-use@Bash.f.ts": `export default async ({ input }, ctx) => {
        if (input.command !== "WAIT") return;
        await ctx.$("sleep", ["11"]);
        return { action: "deny", reason: "WAITED " + await ctx.files.read("a.txt") };
      };`,
    },
    ...["RULE", "SH", "TS", "WAIT", "echo THROUGH"],
  );
  using here = place({ ...caseFiles(given), "a.txt": "A-TEXT" });
  const { read, code, shown } = await play(here, await installMod(here), given);
  assert.equal(code, 0, shown);
  // The model of the session is asked by the prompt hook: it says "ok", which is no verdict, so the hook fails.
  for (const words of ["RULE-NO", "pre-tool-use@Bash.b.prompt.md failed, so this is refused"]) {
    assert.ok(read.includes(words), `${words}\n${shown}`);
  }
  const rest = Object.fromEntries(Object.entries(given.hooks).filter(([name]) => !name.endsWith(".md")));
  using there = place({ ...caseFiles({ hooks: rest }), "a.txt": "A-TEXT" });
  const second = await play(there, await installMod(there), given);
  for (const words of ["RULE-NO", `SH-NO ${there.cwd}`, "TS-NO", "WAITED A-TEXT", "THROUGH"]) {
    assert.ok(second.read.includes(words), `${words}\n${second.shown}`);
  }
});

const halt = `export default () => ({ action: "halt", reason: "OVER" });`;
const MORE: readonly (readonly [what: string, hooks: ModCase["hooks"], expect: ModCase["expect"], left?: string])[] = [
  ["a halt before a call ends the turn", { "pre-tool-use.h.ts": halt }, { made: null, requests: 1 }],
  ["a halt after a call ends the turn", { "post-tool-use.h.ts": halt }, { made: "ORIGINAL", requests: 1 }],
  ["a halt at a stop lets the agent stop", { "stop.h.ts": halt }, { made: "ORIGINAL", requests: 2 }],
  [
    "a prompt is rewritten",
    { "user-prompt-submit.h.ts": `export default ({ prompt }) => ({ action: "modify", value: prompt + "-NEW" });` },
    { reads: ["go-NEW"], requests: 2 },
  ],
  [
    "a denial after a batch of calls ends the turn",
    { "post-tool-batch.h.ts": `export default () => ({ action: "deny", reason: "NO" });` },
    { made: "ORIGINAL", requests: 1 },
  ],
  [
    "a session's end is heard",
    { "session-end.h.ts": `export default ({ reason }, { files }) => files.write("left.txt", "LEFT " + reason);` },
    { made: "ORIGINAL", requests: 2 },
    "LEFT ",
  ],
];

for (const [what, hooks, expect, left] of MORE) {
  test(`in Claude Code, by a mod, ${what}`, NEEDED, async () => {
    const given = commands(hooks, "echo ORIGINAL > made.txt");
    using here = place(caseFiles(given));
    const { made, requests, read, shown } = await play(here, await installMod(here), given);
    assert.equal(requests, expect.requests, shown);
    if (expect.made !== undefined) assert.equal(made, expect.made, shown);
    for (const words of expect.reads ?? []) assert.ok(read.includes(words), `${words}\n${shown}`);
    if (left !== undefined) assert.ok(readFileSync(join(here.cwd, "left.txt"), "utf8").startsWith(left), shown);
  });
}

test("a hook that hangs is over before Claude Code ends it, and its own rule for failures counts", NEEDED, async () => {
  const hangs = `export default () => new Promise(() => {});\nexport const config = { onError: "continue" };`;
  const given = commands({ "pre-tool-use@Bash.h.ts": hangs }, "echo THR''OUGH");
  using here = place(caseFiles(given));
  const { read, shown } = await play(here, await installMod(here), given);
  assert.ok(read.includes("THROUGH"), shown);
});

test("the shipped hooks guard a clone in another folder, from its skills folder, without crochet", NEEDED, async () => {
  using here = place();
  cpSync(SHIPPED, join(here.cwd, "hooks"), { recursive: true });
  const { code, err } = await here.call(install.default, join(here.cwd, "hooks"), "--for", "claude", "--as", "mod");
  assert.equal(code, 0, err);
  const cwd = join(here.home, "a clone");
  renameSync(here.cwd, cwd);
  rmSync(join(cwd, "hooks"), { recursive: true });
  const write = (file_path: string) => ({ tools: [{ name: "Write", input: { file_path, content: "x" } }] });
  const given = commands({}, "git push --force", "rm -rf ~", "echo THROUGH");
  const model = [write(join(cwd, ".env")), write(join(cwd, "new.txt")), ...given.model];
  const moved = { ...here, cwd };
  const { read, shown } = await play(moved, undefined, { ...given, model, allowedTools: "Bash,Write" });
  for (const words of [".env is protected", "it overwrites what others have pushed", "THROUGH"]) {
    assert.ok(read.includes(words), `${words}\n${shown}`);
  }
  assert.ok(existsSync(join(cwd, "new.txt")), shown);
  assert.ok(!existsSync(join(cwd, ".env")));
  assert.equal(readFileSync(join(cwd, ".crochet/audit.jsonl"), "utf8").trim().split("\n").length, 2);
});

for (const form of ["mod", "plugin"]) {
  test(`what 'hooks install --as ${form}' writes passes the checks for the plugin directory`, NEEDED, async () => {
    const about = { name: "p", version: "1.0.0", author: "A <a@b.c>", license: "MIT", repository: "github:a/b" };
    using here = place({ "package.json": JSON.stringify(about), "LICENSE": "MIT" });
    here.env.PATH = `${dirname(claude!)}:${process.env.PATH}`;
    const to = join(here.home, "crochet-hooks");
    const installed = await here.call(install.default, SHIPPED, "--for", "claude", "--as", form, "--to", to);
    assert.equal(installed.code, 0, installed.err);
    assert.doesNotMatch(installed.out, /which the plugin directory asks for/);
    const args = ["plugin", "validate", "--json", "--strict", "--profile", "directory", to] as const;
    const { out } = await ended([claude!, ...args], { env: { HOME: here.home }, cwd: here.cwd });
    const { manifest, contents, directory, advice } = JSON.parse(out);
    const problems = [manifest, ...contents].flatMap(({ errors, warnings }) => [...errors, ...warnings]);
    assert.deepEqual([problems, advice], [[], []], out);
    assert.deepEqual(directory.findings.map(({ code }: { code: string }) => code), ["ICON_MISSING"]);
    const gates = contents.flatMap(({ gatingHooks }: { gatingHooks: { hasCatch: boolean }[] }) => gatingHooks);
    assert.ok(form === "plugin" || gates.length >= 3);
    assert.ok(gates.every(({ hasCatch }: { hasCatch: boolean }) => hasCatch), out);
  });
}
