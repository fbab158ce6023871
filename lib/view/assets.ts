import { readFileSync } from "node:fs";

/** The page's own files: what is built of this one lies in another folder. */
const PAGE = new URL("../../lib/view/page/", import.meta.url);

const STYLES = ["base", "overview", "bar", "rows", "sections", "diff", "hooks", "compare", "print"];

/**
 * The page's style and script as one text each. The script is modules in the source and one function in the page: a
 * module could not run before the whole page is there, and the first rows must not wait for the last.
 */
export function pageAssets(entry: "run.js" | "compare.js"): { style: string; script: string } {
  const style = STYLES.map((name) => read(`${name}.css`)).join("\n");
  const script = `(() => {\n"use strict";\n${inOrder(entry, new Set()).join("\n")}\n})();`;
  return { style, script };
}

/** A module's text after those of all it imports, each once. */
function inOrder(name: string, seen: Set<string>): string[] {
  if (seen.has(name)) return [];
  seen.add(name);
  const text = read(name);
  const below = [...text.matchAll(IMPORT)].flatMap(([, from]) => inOrder(from!, seen));
  return [...below, text.replaceAll(IMPORT, "").replace(/^export (?=(async )?function|const|let|class)/gm, "")];
}

/** How modules of the page name each other; the only form they use. */
const IMPORT = /^import \{[^}]*\} from "\.\/([\w-]+\.js)";\n/gm;

function read(name: string): string {
  return readFileSync(new URL(name, PAGE), "utf8");
}
