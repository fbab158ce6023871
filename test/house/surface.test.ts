/** What the package shows and what its types are called: few names, each of which says what it is. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { filesUnder, LIB, ROOT } from "./_files.ts";

const EXPORT =
  /^export (?:type )?(?:\{([^}]*)\}|\*(?: from "([^"]+)")|(?:abstract |async |declare )*(?:function\*?|class|const|interface|type|enum|namespace) (\w+))/gm;

/** The names that a module exports, those of `export *` too. */
function namesOf(file: string): string[] {
  const text = readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\//g, "");
  return [...text.matchAll(EXPORT)].flatMap(([, list, from, own]) => {
    if (from !== undefined) return namesOf(join(dirname(file), from));
    return list?.split(",").flatMap((one) => one.trim().replace(/^type /, "").split(" as ").at(-1) || []) ?? own ?? [];
  });
}

const entries: Record<string, string | { readonly bun: string }> =
  JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).exports;
const surface = new Map(
  Object.entries(entries).flatMap(([entry, to]) =>
    typeof to === "object" ? [[entry, namesOf(join(ROOT, to.bun))]] : []
  ),
);

test("all entries together export at most 250 names", () => {
  const counts = [...surface].map(([entry, names]) => `${entry} ${names.length}`).join(", ");
  const sum = [...surface.values()].flat().length;
  assert.ok(
    surface.get(".")!.includes("agent") && surface.get("./testing")!.includes("askHook"),
    "the search sees names",
  );
  assert.ok(
    sum <= 250,
    `${sum} names: ${counts}. Parameters<typeof f>[1] and ReturnType give the types of what is exported`,
  );
});

/** Words that say when something was met, and not what it is. */
const EMPTY_NAMES = /^(?:Came|Lived|Kept|Found|Before|Shown|Asked|Said|Heard|Seen|Did|Would|Sought|How)$/;

test("no type of lib is named by a bare participle or question word, which says nothing of what it is", () => {
  const types = filesUnder(LIB, ".ts").flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/^(?:export )?(?:interface|type|class) (\w+)/gm)].map(([, name]) => name!)
  );
  assert.ok(types.length > 1000 && EMPTY_NAMES.test("Came"), "the search sees types");
  assert.deepEqual(types.filter((name) => EMPTY_NAMES.test(name)), []);
});

/** Where a name is declared that a module exports: its file, and what stands before it. */
function declared(file: string, name: string): { readonly file: string; readonly before: string } | undefined {
  const text = readFileSync(file, "utf8");
  const at = new RegExp(
    `^export (?:declare |abstract |async )*(?:function\\*?|class|const|interface|type|enum) ${name}\\b`,
    "m",
  )
    .exec(text);
  if (at) return { file, before: text.slice(0, at.index).trimEnd() };
  for (const [, list, from] of text.matchAll(/^export (?:type )?(?:\{([^}]*)\}|\*) from "([^"]+)"/gm)) {
    const one = list?.split(",").map((part) => part.trim().replace(/^type /, "").split(" as ")).find((part) =>
      part.at(-1) === name
    );
    const found = list === undefined || one ? declared(join(dirname(file), from!), one?.[0] ?? name) : undefined;
    if (found) return found;
  }
  return undefined;
}

test("every exported name has a line of doc that an editor shows", () => {
  const bare = [...surface].flatMap(([entry, names]) =>
    names.flatMap((name) => {
      const at = declared(join(ROOT, (entries[entry] as { readonly bun: string }).bun), name);
      return at?.before.endsWith("*/") ? [] : [`${entry} ${name} (${at?.file ?? "not found"}): add /** … */ above it`];
    })
  );
  assert.deepEqual(bare, []);
});
