/** Tables of pages that repeat what the code says: neither may have what the other does not. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { withFields } from "../../docs/fields.ts";
import { EXIT } from "../../lib/cli/_io.ts";
import { exitCode } from "../../lib/cli/run-agent.ts";
import type { Stop } from "../../lib/core/events.ts";
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

test("the fields of events in hooks/README.md are those of the tables: bun run docs/fields.ts", () => {
  const page = read("hooks/README.md");
  assert.match(page, /\n### Fields\n/);
  assert.equal(page, withFields(page));
});

test("docs/reference.md names every variable of ours that lib and hooks know, and no other", () => {
  const files = ["lib", "hooks"].flatMap((folder) => filesUnder(join(ROOT, folder), ""));
  assert.ok(files.some((file) => relative(ROOT, file) === "lib/cli/crochet"));
  const variables = (text: string) => text.match(/\bCROCHET_[A-Z]+(?:_[A-Z]+)*(?![A-Z_])/g) ?? [];
  const known = sorted(files.flatMap((file) => variables(readFileSync(file, "utf8"))));
  assert.deepEqual(sorted(variables(reference)), known);
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
