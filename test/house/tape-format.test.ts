import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ENTRIES } from "../../lib/log/entry.ts";

const PAGE = new URL("../../fixtures/FORMAT.md", import.meta.url);

/** The keys of each kind of line in the page's table, as they stand there: a row without a kind goes on with the one above. */
function told(): Map<string, string[]> {
  const lines = new Map<string, string[]>();
  const [, , ...rows] = readFileSync(PAGE, "utf8").split("\n").filter((row) => row.startsWith("|"));
  let keys: string[] = [];
  for (const row of rows) {
    const [, kind, named] = row.split("|");
    const own = [...named!.matchAll(/`(\w+\??)`/g)].map(([, key]) => key!);
    if (kind!.trim() !== "") lines.set(own[0]!, keys = []);
    keys.push(...own);
  }
  return lines;
}

test("fixtures/FORMAT.md tells every line and key of a tape in the order they are written, and no other", () => {
  const known = Object.entries(ENTRIES).map(([kind, shape]) => [kind, Object.keys(shape)]);
  assert.deepEqual(Object.fromEntries(told()), Object.fromEntries(known));
});

test("the key of a call is the one that whoever reads fixtures/FORMAT.md makes of its lines", () => {
  const absent = JSON.parse(
    /`system` or `tools` that is absent counts as `(.*?)`/.exec(readFileSync(PAGE, "utf8"))![1]!,
  );
  const sorted = (value: any): any =>
    Array.isArray(value)
      ? value.map(sorted)
      : typeof value === "object" && value !== null
      ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]))
      : value;
  const uncached = ({ cache_control: _, ...rest }: any) => rest;
  const blocks = (given: any) => (typeof given === "string" ? [{ type: "text", text: given }] : given).map(uncached);
  const hash = (before: string, value: unknown) =>
    createHash("sha256").update(`${before}\n${JSON.stringify(sorted(value))}`).digest("hex").slice(0, 32);
  let without = 0;
  for (const name of ["hello", "fix-typo", "keep-going", "delegate"]) {
    const tape = readFileSync(new URL(`../../fixtures/${name}/tape.jsonl`, import.meta.url), "utf8");
    const lines = tape.trimEnd().split("\n").map((line) => JSON.parse(line));
    for (const { head, add, key } of lines.filter(({ call, parent }) => call && !parent)) {
      const { model, params, system, tools } = lines.find((line) =>
        Object.keys(line)[0] === "head" && line.head === head
      );
      const specs = tools?.map((name: string) => uncached(lines.find(({ spec }) => spec === name).tool));
      const asked = { model, params, system: system ? blocks(system) : absent, tools: specs ?? absent };
      const messages = add.map(({ role, content }: any) => ({ role, content: blocks(content) }));
      assert.equal(messages.reduce(hash, hash("tape", asked)), key, `${name}: ${key}`);
      if (!system || !tools) without++;
    }
  }
  assert.ok(without > 0);
});
