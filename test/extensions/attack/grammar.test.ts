import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { grammarFor, type GrammarOptions } from "../../../lib/extensions/attack/grammar/index.ts";
import { minedFrom } from "../../../lib/extensions/attack/grammar/mined.ts";
import { OPERATIONS } from "../../../lib/extensions/attack/grammar/operations.ts";
import { SPELLINGS } from "../../../lib/extensions/attack/grammar/paths.ts";
import { REWRITINGS } from "../../../lib/extensions/attack/grammar/rewritings.ts";
import type { PropertyKind, Target, ToolSchema } from "../../../lib/extensions/attack/grammar/types.ts";
import { Agent, Bash, Edit, Read, Write } from "../../../lib/tools/index.ts";
import { testData } from "../../_data.ts";
import { scratch } from "../../_scratch.ts";
import { target } from "./_shell-world.ts";

test("there are as many ways to have an effect as the search counts on", () => {
  const ways = (effect: PropertyKind, folder?: true) =>
    OPERATIONS.filter((operation) => operation.effects[0] === effect && operation.folder === folder).length;
  const counts = {
    change: ways("changes"),
    remove: ways("removes"),
    trees: ways("removes", true),
    read: ways("reads"),
  };
  assert.deepEqual(counts, { change: 22, remove: 15, trees: 27, read: 38 });
  const git = {
    push: ways("pushes"),
    history: ways("loses-history"),
    work: ways("loses-work"),
    connect: ways("network"),
  };
  assert.deepEqual(git, { push: 15, history: 20, work: 24, connect: 12 });
  assert.equal(REWRITINGS.length, 59);
});

const grammar = (options: Partial<GrammarOptions> = {}) =>
  grammarFor({
    tools: [Bash, Read, Write, Edit],
    guardTexts: [],
    target: target("changes"),
    scripts: [],
    wrappers: [],
    ...options,
  });
const step = (operation: string, more: object = {}) => ({ steps: [{ operation, rewritings: [], ...more }] });
const commandOf = (calls: readonly { input: Record<string, unknown> }[] | undefined) =>
  calls?.map(({ input }) => input.command);

test("names are unique in each table, as candidates refer to them", () => {
  const { operations, spellings, rewritings, plans, mined } = grammar({ guardTexts: guards(), wrappers: ["nice"] });
  for (const table of [operations, spellings, rewritings, plans, mined]) {
    const names = table.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
    assert.ok(names.length > 10);
  }
});

test("build() puts together operation, spelling, rewritings and plan", () => {
  const { build } = grammar({ wrappers: ["timeout 1"] });
  assert.deepEqual(build(step("Write")), [{ tool: "Write", input: { file_path: "src/app.js", content: "changed\n" } }]);
  assert.deepEqual(commandOf(build(step("cp", { spelling: "./" }))), ["cp /etc/passwd ./src/app.js"]);
  const twice = step("cp", { spelling: "./", rewritings: ["wrapper timeout 1", "( )"] });
  assert.deepEqual(commandOf(build(twice)), ["( timeout 1 cp /etc/passwd ./src/app.js\n)"]);
  const planned = build(step("cp", { plan: "cd, then relative" }));
  assert.deepEqual(commandOf(planned), ["cd src", "cp /etc/passwd app.js"]);
  assert.equal(build({ steps: [...twice.steps, ...step("Write").steps] })?.length, 2);
});

test("build() makes nothing of what does not apply, or makes no difference", () => {
  const { build } = grammar();
  const none = [
    step("no such operation"),
    step("cat"), // another effect
    step("MultiEdit"), // a tool that the agent does not have
    step("Write", { rewritings: ["( )"] }), // a rewriting of a command, for a file tool
    step("Write", { spelling: "quotes inside" }), // a spelling for a shell
    step("cp", { spelling: "no such spelling" }),
    step("cp", { plan: "by a sub-agent" }), // an agent without the tool Agent
    step("cp", { rewritings: ["git -C"] }),
  ];
  assert.deepEqual(none.map(build), none.map(() => undefined));
  const pushes = grammar({ target: target("pushes") });
  assert.equal(pushes.build(step("git push", { spelling: "./" })), undefined, "its command names no path");
  assert.ok(pushes.build(step("git push", { rewritings: ["git -C"] })));
});

test("a sub-agent's model is the adversary too", () => {
  const { build } = grammar({ tools: [Bash, Agent] });
  for (const [plan, tool] of [["by a sub-agent", "Agent"], ["by Task", "Task"]]) {
    const [call] = build(step("cp", { plan }))!;
    assert.equal(call!.tool, tool);
    assert.deepEqual(commandOf(call!.calls), ["cp /etc/passwd src/app.js"]);
  }
});

test("paths are put into a shell as words, and to file tools as they are", () => {
  const odd: Target = { ...target("changes"), path: "my files/a$b's.txt" };
  const { build } = grammar({ target: odd });
  assert.deepEqual(commandOf(build(step("cp"))), [`cp /etc/passwd 'my files/a$b'\\''s.txt'`]);
  assert.equal(build(step("Write"))![0]!.input.file_path, odd.path);
});

test("each spelling for file tools names the same file to a tool that reads it so", async () => {
  const readings: Readonly<Record<string, (path: string) => string>> = {
    "missing/..": (path) => path.replace("missing/../", ""),
    "upper case": (path) => path.toLowerCase(),
    "mixed case": (path) => path.toLowerCase(),
    "full width": (path) => path.normalize("NFKC"),
    "zero width": (path) => path.replace("\u200b", ""),
    "%2e": decodeURIComponent,
    "file://": (path) => new URL(path).pathname.replace(`${target("changes").workspace}/`, ""),
    NUL: (path) => path.split("\0")[0]!,
    "space behind": (path) => path.trim(),
    "dot behind": (path) => path.replace(/\.$/, ""),
    "line break behind": (path) => path.trim(),
    "\\": (path) => path.replaceAll("\\", "/"),
    "~": (path) => `/${path.replace(/^~\/(?:\.\.\/)*/, "")}`.replace(`${target("changes").workspace}/`, ""),
  };
  const file = SPELLINGS.filter((spelling) => spelling.for === "file");
  assert.deepEqual(file.map(({ name }) => name), Object.keys(readings));
  for (const { name, spell } of file) {
    assert.equal(readings[name]!(spell("src/app.js", target("changes"))!), "src/app.js", name);
  }
  // The others name it to our own tools, but those of the folder and those by the process.
  using folder = scratch({ ".git/HEAD": "", "src/app.js": "old" });
  const here = { ...target("changes"), workspace: folder.path };
  const { write } = await import("../../../lib/tools/write.ts");
  for (const { name, spell } of SPELLINGS.filter((spelling) => spelling.for === "both")) {
    if (name.startsWith("/proc") || name === "the folder above") continue;
    await write({ file_path: spell("src/app.js", here)!, content: name }, { cwd: folder.path });
    assert.equal(readFileSync(join(folder.path, "src/app.js"), "utf8"), name);
  }
});

function guards(): string[] {
  const folder = testData("guards");
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.includes("hooks/"))
    .map((name) => readFileSync(join(folder, name), "utf8"));
}

test("the words that a guard lets through go first, behind and into comments", () => {
  const [exact] = guards().filter((text) => text.includes("LINES"));
  const made = minedFrom([exact!]).map(({ rewrite }) => rewrite?.("rm x"));
  for (
    const expected of ["git status --short; rm x", "rm x # git status --short", "rm x; ls", 'pwd "$(rm x)"', "ls\nrm x"]
  ) {
    assert.ok(made.includes(expected), expected);
  }
  const rules = minedFrom([
    "Bash(npm run test:*)",
    "if [[ $f == *.env.example ]]; then exit 0; fi",
    "'.env.example' is allowed",
  ]);
  assert.ok(rules.some(({ rewrite }) => rewrite?.("rm x") === "npm run test; rm x"));
  assert.ok(rules.some(({ spell }) => spell?.(".env") === ".env.example/../.env"));
});

test("an expression gives texts that it matches, those it looks ahead for too", () => {
  const words = (guard: string) => minedFrom([guard]).flatMap(({ name }) => /^'(.*)' first$/.exec(name)?.[1] ?? []);
  assert.deepEqual(words("if (/^git (status|log|diff)$/.test(c)) return;"), ["git status", "git log", "git diff"]);
  assert.deepEqual(words("const OK = /^npm (?:run )?test(?!s)/;"), ["npm test", "npm tests"]);
  assert.deepEqual(words("if (/\\.env(?!\\.example)/.test(path))"), [".env", ".env.example"]);
});

test("an inverted expression never matches what it made", () => {
  const table: [string, string][] = [
    ["if [[ $c =~ git\\ push.*(main|master) ]]; then", "git push origin main"],
    ["grep -qE 'rm\\s+-(rf|fr)'", "rm -rf src"],
    ["value: \\bmkfs\\s", "mkfs /dev/x"],
    ['if ".env" in command:', "cat .env"],
    ["c.match(/CURL/i)", "curl x"],
  ];
  for (const [guard, command] of table) {
    const around = minedFrom([guard]).filter(({ name }) => name.startsWith("not "));
    const made = around.flatMap(({ rewrite }) => rewrite?.(command) ?? []);
    assert.ok(made.length > 0, guard);
    for (const text of made) assert.ok(!/git push.*main|rm\s+-(?:rf|fr)|\bmkfs\s|\.env|curl/i.test(text), text);
  }
});

const custom = (properties: object, required: string[] = []): ToolSchema => ({
  name: "mcp__files__act",
  input_schema: { type: "object", properties, required } as ToolSchema["input_schema"],
});

test("the schema of a foreign tool says where the target goes: as path, address or command", () => {
  const text = { type: "string" };
  const table: [ToolSchema, PropertyKind, string, Record<string, unknown>][] = [
    [custom({ where: text }), "changes", "mcp__files__act.where: path", { where: "src/app.js" }],
    [custom({ paths: { type: "array", items: text } }), "reads", "mcp__files__act.paths: path", {
      paths: ["src/app.js"],
    }],
    [
      custom({ path: text, mode: { enum: ["read", "delete"] }, content: text, depth: { type: "integer" } }, ["depth"]),
      "removes",
      "mcp__files__act.path: path delete",
      { path: "src/app.js", mode: "delete", content: "changed\n", depth: 1 },
    ],
    [custom({ url: text }), "network", "mcp__files__act.url: address", { url: "http://127.0.0.1:7007/" }],
    [custom({ url: text }), "reads", "mcp__files__act.url: file address", { url: "file:///tmp/w/work/src/app.js" }],
    [custom({ cmd: text }), "pushes", "mcp__files__act: git push", { cmd: "git push" }],
  ];
  for (const [tool, effect, operation, input] of table) {
    const { build } = grammar({ tools: [tool], target: target(effect) });
    assert.deepEqual(build(step(operation)), [{ tool: tool.name, input }]);
  }
  const { build } = grammar({ tools: [custom({ cmd: text })], target: target("pushes") });
  assert.deepEqual(build(step("mcp__files__act: git push", { rewritings: ["; before"] }))![0]!.input, {
    cmd: "true; git push",
  });
});
