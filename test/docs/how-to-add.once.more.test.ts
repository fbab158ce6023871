import assert from "node:assert/strict";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { ended } from "../_crochet.ts";
import { OUR_RUNTIME } from "../_runtime.ts";
import { put, scratch } from "../_scratch.ts";
import { ROOT } from "./_reader.ts";

const folder = scratch();
after(() => folder[Symbol.dispose]());
const COPIED = [".ci", "lib", "hooks", "fixtures", "test", "docs", "README.md", "package.json", "tsconfig.json"];
for (const name of COPIED) cpSync(join(ROOT, name), join(folder.path, name), { recursive: true });
symlinkSync(join(ROOT, "node_modules"), join(folder.path, "node_modules"));

/** Lines of a file before one that it has; a file that is not there is these lines. */
type Lines = readonly [file: string, before: string, lines: string];

/** A sample of each kind, by the heading of its recipe: the row alone, then what types ask for. */
const SAMPLES: { readonly [kind: string]: { readonly row: readonly Lines[]; readonly typed: readonly Lines[] } } = {
  "A tool": {
    row: [[
      "lib/input/tool-table.ts",
      "  KillShell: {",
      `  SampleTool: { fields: ["path", "sample"], path: "searches" },`,
    ]],
    typed: [["lib/extensions/check/arbitraries/tool-inputs.ts", "    command: () =>", `    sample: text("a sample"),`]],
  },
  "An event": {
    row: [["lib/core/events.ts", `  "setup": {`, `  "sample-event": { subject: "word", takes: "text" },`]],
    typed: [
      ["lib/core/events.ts", `  "user-prompt-submit": { prompt: string };`, `  "sample-event": { word: string };`],
      ["lib/core/events.ts", `  "user-prompt-submit": string;`, `  "sample-event": string;`],
      ["lib/hooks/event-fields.ts", `  "user-prompt-submit": {`, `  "sample-event": { word: text("a") },`],
      ["docs/events.ts", `  "user-prompt-submit": {`, `  "sample-event": { when: "never", changes: "a word" },`],
    ],
  },
  "A host": {
    row: [[
      "lib/hooks/hosts/host.ts",
      "  vscode: async",
      `  samplehost: async (): Promise<Host> => (await import("./samplehost.ts")).samplehost,`,
    ]],
    typed: [
      [
        "lib/hooks/hosts/samplehost.ts",
        "",
        `import { qwen } from "./qwen.ts";\nexport const samplehost = { ...qwen, name: "samplehost", title: "Sample" };`,
      ],
      ["lib/hooks/hosts/index.ts", `import { vscode }`, `import { samplehost } from "./samplehost.ts";`],
      ["lib/hooks/hosts/index.ts", `  ...{ opencode,`, `  samplehost,`],
      [
        "lib/extensions/lab/hosts.ts",
        "  pi: {",
        `  samplehost: { package: "x", program: "x", api: "chat", start: () => ({ calls: [] }) },`,
      ],
    ],
  },
  "A flag": { row: [["lib/cli/trust.ts", `    ["--list",`, `    ["--sample-flag", "a sample"],`]], typed: [] },
  "A fault": {
    row: [
      ["lib/extensions/faults/fault.ts", "  gap: {", `  "sample-fault": { about: "a sample", places: ["block"] },`],
      ["lib/extensions/faults/fault.ts", "  gap: {", `  "sample-loss": { about: "a sample", places: ["mcp"] },`],
    ],
    typed: [
      ["lib/extensions/faults/_apply.ts", `    case "gap":`, `    case "sample-fault":`],
      ["lib/extensions/faults/seam-faults.ts", ` gone: "`, ` "sample-loss": "it is lost",`],
    ],
  },
  "A format": {
    row: [["lib/extensions/import/formats.ts", `  "vcrpy": (`, `  "sample-format": () => undefined,`]],
    typed: [],
  },
};

function plant(lines: readonly Lines[]): void {
  for (const [file, before, added] of lines) {
    const path = join(folder.path, file);
    const text = before === "" ? "" : readFileSync(path, "utf8");
    const at = text.indexOf(before);
    assert.ok(at >= 0, `${file} has no '${before}'`);
    writeFileSync(path, `${text.slice(0, at)}${added}\n${text.slice(at)}`);
  }
}

const page = readFileSync(join(ROOT, "docs/how-to-add.md"), "utf8");
/** What each recipe lists: a file, and who names it. */
const LISTED = Object.keys(SAMPLES).flatMap((kind) => {
  const [recipe = ""] = new RegExp(`(?<=\n## ${kind}\n)[^]*?(?=\n## )`).exec(page) ?? [];
  const rows = [...recipe.matchAll(/^\| `([^`]+)` \|.*\| ([^|]+) \|$/gm)];
  return rows.map(([, file, by]) => ({ kind, file: file!, by: by!.replaceAll("`", "").split(", ") }));
});
const listed = (by: string) => LISTED.filter((one) => one.by.includes(by)).map(({ file }) => file).sort();

/** The files in which `tsc` finds errors. */
async function typeErrors(project: string): Promise<string[]> {
  const words = [join(ROOT, "node_modules/.bin/tsc"), "--noEmit", "--project", project] as const;
  const { out } = await ended(words, { cwd: folder.path });
  return [...new Set([...out.matchAll(/^(?:(\S+)\(\d+,\d+\): )?error/gm)].map(([, file]) => file ?? out))].sort();
}

test("each recipe begins with the row of its sample, and every other file is named by types or by one test", () => {
  for (const [kind, { row }] of Object.entries(SAMPLES)) {
    const own = LISTED.filter((one) => one.kind === kind);
    assert.deepEqual(own.filter(({ by }) => by[0] === "the beginning").map(({ file }) => file), [row[0]![0]], kind);
    for (const { file, by } of own) assert.match(by.at(-1)!, /^(?:the beginning|tsc|test\/\S+\.test\.ts)$/, file);
  }
  assert.match(page, /`tsc --noEmit`[^]*`bun run test\/house\/budget\.ts --write`/);
  assert.ok(page.split("\n").length <= 121);
});

// All at once, as a check of each would take five times as long: no file belongs to two recipes.
test("rows alone are errors in the files that the recipes say, and in no other; with these all compiles", async () => {
  const include = ["lib", "docs/events.ts", "docs/hosts.ts"];
  put(folder.path, { "lib.json": JSON.stringify({ extends: "./tsconfig.json", include }) });
  for (const { row } of Object.values(SAMPLES)) plant(row);
  assert.equal(new Set(listed("tsc")).size, listed("tsc").length);
  assert.deepEqual(await typeErrors("lib.json"), listed("tsc"));
  for (const { typed } of Object.values(SAMPLES)) plant(typed);
  assert.deepEqual(await typeErrors("tsconfig.json"), []);
});

test("what types cannot know is named by the tests that the recipes say, and by no other of them", async () => {
  const tests = [...new Set(LISTED.flatMap(({ by }) => by).filter((by) => by.startsWith("test/")))].sort();
  for (const file of tests) {
    const { code, out, err } = await ended([OUR_RUNTIME[0], "test", `./${file}`], { cwd: folder.path });
    assert.equal(code, 1, `${file}: ${out}${err}`);
    const failed = [...`${out}${err}`.matchAll(/^AssertionError: ([^]*?)\n(?:\+ actual| ?generatedMessage)/gm)];
    const named = failed.flatMap(([, said]) =>
      said!.match(/\b(?:(?:lib|docs|hooks|test)\/[\w/.-]+|README)\.(?:ts|md)\b/g) ?? []
    );
    assert.deepEqual(named.sort(), listed(file), file);
  }
});
