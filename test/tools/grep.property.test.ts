import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { ToolError } from "../../lib/core/tool.ts";
import { findRipgrep } from "../../lib/tools/search/ripgrep.ts";
import { TYPE_LIST } from "../../lib/tools/search/types.ts";
import { grep, type GrepInput, type GrepResponse } from "../../lib/tools/index.ts";
import { tries } from "../_counts.ts";
import { content, ignoreFilesFor, pattern } from "./_search-arbitraries.ts";
import { plant } from "./_tree.ts";
import { inWorkspace } from "./_workspace.ts";

const ripgrep = await findRipgrep();
const needed = { ...(ripgrep === undefined && { skip: "ripgrep is not here" }) };

const FILES = ["a.ts", "b.js", "d/a.md", "d/.h", "d/e/a.ts"];
const tree = fc.dictionary(fc.constantFrom(...FILES), content, { minKeys: 3 });

const options: fc.Arbitrary<Partial<GrepInput>> = fc.record({
  output_mode: fc.constantFrom("content", "files_with_matches", "count"),
  "-i": fc.boolean(),
  "-n": fc.boolean(),
  "-A": fc.nat(2),
  "-B": fc.nat(2),
  "-C": fc.nat(2),
  multiline: fc.boolean(),
  type: fc.constantFrom("ts", "js", "md", "all", "nope"),
  glob: fc.constantFrom("*.ts", "d/**", "!*.md", "*.{ts,js}", "d/*.md, *.js", "/a.ts"),
  path: fc.constantFrom("d", "d/e", ...FILES),
  head_limit: fc.nat(4),
  offset: fc.nat(3),
}, { requiredKeys: [] });

/** What ripgrep searches in linear time and JavaScript's engine does not. */
const RUNAWAY = /without ripgrep as its repetitions/;

type Outcome = GrepResponse | { refused: string };

async function search(input: GrepInput, root: string, engine?: false): Promise<Outcome> {
  try {
    return await grep(input, { cwd: root, ...(engine === false && { ripgrep: false }) });
  } catch (error) {
    assert.ok(error instanceof ToolError, String(error));
    return { refused: RUNAWAY.test(error.message) ? "runaway" : error.code };
  }
}

/**
 * Where the engines may differ, and why: ripgrep counts an empty match at every byte, even inside a character; anchors
 * of the whole text (\A, \z) mean a line or a file depending on what else is in the pattern; `a|\n` is taken for a class.
 */
function isUndefined({ pattern, multiline, output_mode }: Partial<GrepInput>, bytes: Iterable<Uint8Array>): boolean {
  if (multiline && /\\[Az]/.test(pattern!)) return true;
  if (!multiline && /\\n/.test(pattern!)) return true;
  return Boolean(multiline) && output_mode === "count" && [...bytes].some((b) => b.some((byte) => byte > 0x7f));
}

test("Grep always finds the same with ripgrep and without", needed, async () => {
  let found = 0;
  await fc.assert(
    fc.asyncProperty(tree, pattern, options, (files, pattern, more) =>
      inWorkspace(async (root) => {
        const input = { pattern, ...more } as GrepInput;
        fc.pre(!isUndefined(input, Object.values(files)));
        plant(root, files);
        const plain = await search(input, root, false);
        fc.pre(!("refused" in plain && plain.refused === "runaway"));
        assert.deepEqual(plain, await search(input, root));
        if ("numFiles" in plain && plain.numFiles > 0) found++;
      })),
    { numRuns: tries(80, 5000) },
  );
  assert.ok(found > 0);
});

/** Files that ignore files may leave out. */
const HIDDEN = ["a", "b", ".a", "a/x", "a/b/a", "b/ab", "b/é"];

test("Grep always finds the same with ripgrep and without, where ignore files leave files out", needed, () =>
  fc.assert(
    fc.asyncProperty(ignoreFilesFor(HIDDEN), fc.constantFrom(undefined, "*", "**", "a*", "!b", ".*"), (ignores, glob) =>
      inWorkspace(async (root) => {
        plant(root, { ...Object.fromEntries(HIDDEN.map((name) => [name, "needle\n"])), ...ignores });
        const input = { pattern: "needle", ...(glob !== undefined && { glob }) };
        assert.deepEqual(await search(input, root, false), await search(input, root));
      })),
    { numRuns: tries(40, 2000) },
  ));

/** What a person would type: the simplest of the forms, so that a mistake in both engines shows. */
test("Grep always gives the lines that ripgrep itself prints", needed, () =>
  fc.assert(
    fc.asyncProperty(
      fc.dictionary(
        fc.constantFrom(...FILES),
        fc.array(fc.constantFrom("a", "b", "ab", "", "xay"), { maxLength: 6 }).map((l) => l.join("\n") + "\n"),
      ),
      fc.constantFrom("a", "^a", "b$", "^$", "x|b", "a.*y"),
      fc.nat(2),
      (files, pattern, context) =>
        inWorkspace(async (root) => {
          plant(root, files);
          let printed = "";
          try {
            printed = execFileSync(
              ripgrep!,
              ["--no-config", "--hidden", "--sort=path", "-n", `-C${context}`, "-e", pattern],
              { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] },
            );
          } catch {
            // Nothing found.
          }
          const found = await grep({ pattern, output_mode: "content", "-C": context, head_limit: 0 }, { cwd: root });
          assert.equal(found.content === "" ? "" : `${found.content}\n`, printed);
        }),
    ),
    { numRuns: tries(40, 1000) },
  ));

test(
  "Grep always gives all of a result page by page, each entry once, by the offsets it names",
  needed,
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom("content" as const, "files_with_matches" as const, "count" as const),
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.nat(6), { minLength: 1, maxLength: 5 }),
        (output_mode, head_limit, counts) =>
          inWorkspace(async (root) => {
            plant(root, Object.fromEntries(counts.map((lines, i) => [`f${i}`, "needle\n".repeat(lines)])));
            const entries = (found: GrepResponse) =>
              found.content === undefined ? found.filenames : found.content.split("\n");
            const whole = entries(await grep({ pattern: "needle", output_mode, head_limit: 0 }, { cwd: root }));
            const pages: string[] = [];
            for (let offset: number | undefined = 0; offset !== undefined;) {
              const found: GrepResponse = await grep({ pattern: "needle", output_mode, head_limit, offset }, {
                cwd: root,
              });
              pages.push(...entries(found));
              const next: string | undefined = /go on with offset (\d+)/.exec(found.notice ?? "")?.[1];
              offset = next === undefined ? undefined : Number(next);
            }
            assert.deepEqual(pages, whole);
          }),
      ),
      { numRuns: tries(40, 500) },
    ),
);

test("the table of file types is ripgrep's", needed, () => {
  assert.equal(TYPE_LIST.trim(), execFileSync(ripgrep!, ["--no-config", "--type-list"], { encoding: "utf8" }).trim());
});

test(
  "Grep by a type whose globs are more than endings always finds the same with ripgrep and without",
  needed,
  () =>
    inWorkspace(async (root) => {
      const types = TYPE_LIST.trim().split("\n").map((line) => line.split(": ") as [name: string, globs: string])
        .filter(([, globs]) => globs.split(", ").some((glob) => /[[*]/.test(glob.slice(1))));
      assert.ok(types.length >= 10, String(types));
      // What a glob could mean: * for nothing or for some letters, [abc] for its first or for its last.
      const names = types.flatMap(([, globs]) => globs.split(", ")).flatMap((glob) =>
        ["", "x.y"].flatMap((star) =>
          ["$1", "$2"].map((one) => glob.replaceAll("*", star).replaceAll(/\[(.).*?(.)\]/g, one))
        )
      );
      plant(
        root,
        Object.fromEntries(names.flatMap((name) => [name, `${name}z`, `z${name}`]).map((n) => [n, "needle\n"])),
      );
      for (const type of [...types.map(([name]) => name), "all"]) {
        const input = { pattern: "needle", type, head_limit: 0 };
        const found = await search(input, root);
        assert.ok("filenames" in found && found.filenames.length > 0, type);
        assert.deepEqual(await search(input, root, false), found, type);
      }
    }),
);

test("Grep without ripgrep refuses a pattern that could search for ever, and no usual one", () =>
  inWorkspace(async (root) => {
    writeFileSync(join(root, "a.txt"), `${"a".repeat(60)}!\n`);
    const classes = [
      "(\\p{L}+)+$",
      "(\\pL+)+$",
      "([[:alpha:]]+)+$",
      "(\\x{61}+)+$",
      "([a&&[^b]]+)+$",
      "\\p{L}+*$",
      "([😀-😎]|\\p{So})*b",
      `${"\\p{L}?".repeat(40)}${"a".repeat(40)}b`,
    ];
    for (const pattern of ["(a+)+$", "(?i)(a|A)*b", "(?P<x>a*)*c", ...classes]) {
      assert.deepEqual(await search({ pattern }, root, false), { refused: "runaway" }, pattern);
    }
    for (const [open, close] of ["()", "[]"]) {
      const deep = `${open!.repeat(20_000)}a${close!.repeat(20_000)}`;
      assert.deepEqual(await search({ pattern: deep }, root, false), { refused: "invalid_input" });
    }
    for (const pattern of ["(\\p{Lu}\\p{Ll}+)+", "(?:[[:alpha:]]+\\d)+", "(?i:\\b\\p{Greek}+\\s)*", "(\\w+\\W+){3,}"]) {
      assert.ok(!("refused" in await search({ pattern }, root, false)), pattern);
    }
    assert.ok(!("refused" in await search({ pattern: "(\\w+\\s)+|a.*b.*c|(foo|bar)+" }, root, false)));
  }));
