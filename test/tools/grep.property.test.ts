import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { findRipgrep } from "../../lib/tools/search/ripgrep.ts";
import { grep } from "../../lib/tools/index.ts";
import type { GrepResponse } from "../../lib/tools/grep.ts";
import { tries } from "../_counts.ts";
import { plant } from "./_tree.ts";
import { inWorkspace } from "./_workspace.ts";

const ripgrep = findRipgrep();
const needed = { ...(ripgrep === undefined && { skip: "ripgrep is not here" }) };

const FILES = ["a.ts", "b.js", "d/a.md", "d/.h", "d/e/a.ts"];
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
