/**
 * How many lines each part of the house may have: `budget.json`.
 *
 *     bun run test/house/budget.ts            says what is over its budget
 *     bun run test/house/budget.ts --write    takes the lines of now as the budget
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { filesUnder, ROOT } from "./_files.ts";

/** Lines by what they are of: a folder, or the kernel, which is lib without the folders of extensions. */
export type Lines = { readonly [part: string]: number };

const FILE = join(ROOT, "test/house/budget.json");
const COUNTED = new Set([".ts", ".js", ".css", ".html"]);
/** What must not grow by a line; other parts have what is left of a hundred, as a change moves lines between them. */
const EXACT = ["lib", "kernel"];

export const budget = (): Lines => JSON.parse(readFileSync(FILE, "utf8"));

export function linesNow(): Lines {
  const extensions = foldersIn("lib/extensions");
  const rooms = foldersIn("lib").filter((room) => room !== "lib/extensions");
  const parts = Object.fromEntries(["lib", ...rooms, ...extensions, "test"].map((part) => [part, linesIn(part)]));
  const { lib, ...others } = parts;
  return { lib: lib!, kernel: lib! - extensions.reduce((sum, one) => sum + parts[one]!, 0), ...others };
}

function foldersIn(path: string): string[] {
  return readdirSync(join(ROOT, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory()).map(({ name }) => `${path}/${name}`).sort();
}

function linesIn(part: string): number {
  const files = filesUnder(join(ROOT, part)).filter((file) => COUNTED.has(extname(file)));
  return files.reduce((sum, file) => sum + readFileSync(file, "utf8").split("\n").length - 1, 0);
}

/** What is over its budget, or has none, or is gone: each with what to do. */
export function overBudget(lines: Lines, budget: Lines): string[] {
  const shown = (count: number) => count.toLocaleString("en-US");
  return [
    ...Object.entries(lines).flatMap(([part, count]) => {
      const most = budget[part];
      if (most === undefined) return [`${part} has no budget: write it into test/house/budget.json`];
      if (count <= most) return [];
      const way = /^(?:kernel|lib\/(?!extensions\/))/.test(part) ? ", or make it an extension" : "";
      return [
        `${part} has ${shown(count)} lines, and its budget is ${shown(most)}: remove as much as you add${way}` +
        " (docs/how-to-add.md)",
      ];
    }),
    ...Object.keys(budget).filter((part) => lines[part] === undefined)
      .map((part) => `${part} is gone: remove its line in test/house/budget.json`),
  ];
}

if (import.meta.main) {
  const lines = linesNow();
  if (process.argv.includes("--write")) {
    const rows = Object.entries(lines).map(([part, count]) =>
      [part, EXACT.includes(part) ? count : Math.ceil(count / 100) * 100] as const
    );
    writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(rows), null, 2)}\n`);
  }
  const over = overBudget(lines, budget());
  console.log(over.length === 0 ? "within budget" : over.join("\n"));
  process.exitCode = over.length === 0 ? 0 : 1;
}
