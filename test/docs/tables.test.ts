/** Tables of pages that repeat what the code says: neither may have what the other does not. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { WRITTEN } from "../../docs/events.ts";
import { EXIT } from "../../lib/cli/kit/io.ts";
import { exitCode } from "../../lib/cli/run-agent.ts";
import { EVENTS, type Stop } from "../../lib/core/events.ts";
import { EVENT_NAMES } from "../../lib/core/names.ts";
import { FORMATS } from "../../lib/extensions/import/formats.ts";
import { type ToolRow, TOOLS } from "../../lib/input/tool-table.ts";
import { FAULTS } from "../../lib/extensions/faults/fault.ts";
import { filesUnder } from "../house/_files.ts";
import { ROOT } from "./_reader.ts";

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const reference = read("docs/reference.md");

/** The cells of the table below this head, and what is marked as code in them. */
function tableOf(page: string, head: string): { cells: string[]; names: string[][] }[] {
  const at = page.indexOf(`\n${head}\n|---`);
  assert.ok(at >= 0, `no table '${head}'`);
  const rows = page.slice(at + 1).split("\n\n")[0]!.trimEnd().split("\n").slice(2);
  return rows.map((row) => {
    const cells = row.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim());
    return { cells, names: cells.map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)) };
  });
}

const sorted = (names: Iterable<string>) => [...new Set(names)].sort();

test("event-hooks.ts and the events in hooks/README.md are those of the table: bun run docs/events.ts", () => {
  const old = Object.entries(WRITTEN).flatMap(([file, written]) => read(file) === written(read(file)) ? [] : [file]);
  assert.deepEqual(old, [], `${old.join(" and ")}: run the script`);
  for (const [name, { fires }] of Object.entries(EVENTS)) {
    assert.match(read("hooks/README.md"), new RegExp(`\n\\| \`${name}\` \\|.*\n[^]*\n\\| \`${name}\` \\|`), "twice");
    assert.equal(read("lib/hooks/event-hooks.ts").includes(`Hook<"${name}">`), fires, name);
  }
  for (const name of EVENT_NAMES) assert.ok(read("hooks/README.md").includes(`\`${name}\``), name);
});

const ours = Object.entries<ToolRow>(TOOLS).flatMap(([name, { elsewhere }]) => elsewhere ? [] : [name]);

for (
  const [page, head, column, what, known] of [
    ["docs/tools.md", "| tool | what is special about it |", 0, "tool", ours],
    ["docs/record-and-replay.md", "| what fails | faults | as it is written |", 1, "fault", Object.keys(FAULTS)],
    ["docs/record-and-replay.md", "| format | who writes it |", 0, "format", Object.keys(FORMATS)],
  ] as const
) {
  test(`${page} has every ${what} in its table, and no other`, () => {
    const listed = tableOf(read(page), head).flatMap(({ names }) => names[column]!);
    assert.deepEqual(sorted(listed), sorted(known), page);
  });
}

/** Between our own processes: whoever reads of one might set it. */
const BETWEEN_US = [
  ...["CROCHET_ABSENT", "CROCHET_BUILT", "CROCHET_CHECK", "CROCHET_DELAYED", "CROCHET_DELAYS"],
  ...["CROCHET_DESK_BEFORE", "CROCHET_FROM", "CROCHET_REPORTS", "CROCHET_REVIEWED", "CROCHET_STARTED_BY"],
  "CROCHET_TAPE", // gone, which is said
];

test("docs/reference.md names the 13 variables of lib and hooks that are not between our own processes, and no other", () => {
  const files = ["lib", "hooks"].flatMap((folder) => filesUnder(join(ROOT, folder), ""));
  assert.ok(files.some((file) => relative(ROOT, file) === "lib/cli/crochet"));
  const variables = (text: string) => text.match(/\bCROCHET_[A-Z]+(?:_[A-Z]+)*(?![A-Z_])/g) ?? [];
  const known = sorted(files.flatMap((file) => variables(readFileSync(file, "utf8"))));
  const documented = sorted(variables(reference));
  assert.deepEqual(sorted([...documented, ...BETWEEN_US]), known);
  assert.equal(documented.length, 13);
  assert.equal(documented.length + BETWEEN_US.length, known.length);
});

test("docs/reference.md has every exit code, and the one of each way in which a run ends", () => {
  const codes = tableOf(reference, "| code | means |").map(({ cells }) => Number(cells[0]));
  assert.deepEqual(codes, Object.values(EXIT));
  const stops = /export type Stop =([^;]+);/.exec(read("lib/core/events.ts"))![1]!.match(/\w+/g)!;
  const rows = tableOf(reference, "| code | stop |").flatMap(({ cells, names }) =>
    names[1]!.map((stop) => [stop, Number(cells[0])] as const)
  );
  assert.deepEqual(sorted(rows.map(([stop]) => stop)), sorted(stops));
  for (const [stop, code] of rows) assert.equal(exitCode(stop as Stop), code, stop);
});

test("docs/reference.md names every folder and file of our state, and no other", () => {
  const source = filesUnder(join(ROOT, "lib"), ".ts").map((file) => readFileSync(file, "utf8")).join("\n");
  const found = (...patterns: RegExp[]) =>
    sorted(patterns.flatMap((one) => [...source.matchAll(one)].map((m) => m[1]!)));
  const listed = (head: string) => sorted(tableOf(reference, head).flatMap(({ names }) => names[0]!));
  const projects = found(
    /(?:stateFolder|statePath)\)?\(\w+(?:\.cwd)?, (?:io\.|process\.)?env, "([\w.-]+)"/g,
    /CONFIG_FILE = ".crochet\/([\w.-]+)"/g,
  );
  assert.deepEqual(listed("| in `.crochet` | |"), sorted([...projects, "audit.jsonl"]));
  const kinds = /kind: ((?:"\w+"(?: \| )?)+),\n/.exec(read("lib/files/state.ts"))![1]!.match(/\w+/g)!;
  const users = found(
    /userState\(env\), "([\w.-]+)"/g,
    /\/\.crochet\/([\w.-]+)`/g,
    /\$\{root\}\/(\w+)\//g,
    /pathBelow\(userState\(.*\), \["(\w+)"\]/g,
  );
  assert.deepEqual(listed("| in `~/.crochet` | |"), sorted([...kinds, ...users]));
});

test("docs/agents.md has every event of a run, with its fields", () => {
  const body = /interface Reported \{\n([\s\S]*?)\n\}/.exec(read("lib/core/run-events.ts"))![1]!;
  const known = body.replaceAll(/ *\/\*\*[\s\S]*?\*\//g, "").split(/\n(?= {2}\w+: )/).map((entry) => {
    const [, type, rest] = /^\s*(\w+): \{([\s\S]*)\};?\s*$/.exec(entry)!;
    const flat = rest!.replaceAll(/\{[^{}]*\}/g, "{}");
    return [type!, [...flat.matchAll(/(?:^|[;\n])\s*(\w+)\??:/g)].map(([, name]) => name!)] as const;
  });
  const listed = tableOf(read("docs/agents.md"), "| type | fields | when |").flatMap(({ names: [types, fields] }) =>
    types!.map((type) => [type, fields!] as const)
  );
  assert.ok(known.length >= 20);
  assert.deepEqual(Object.fromEntries(listed), Object.fromEntries(known));
});
