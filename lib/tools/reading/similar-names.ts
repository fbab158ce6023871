import { readdir } from "node:fs/promises";
import { basename, dirname } from "node:path";

/** Names in the folder of a missing file that it may have been meant to be: the likest first, at most three. */
export async function similarNames(path: string): Promise<string[]> {
  const wanted = basename(path).toLowerCase();
  const names = await readdir(dirname(path)).catch(() => []);
  return names
    .map((name) => ({ name, likeness: likeness(wanted, name.toLowerCase()) }))
    .filter(({ likeness }) => likeness >= 0.5)
    .sort((a, b) => b.likeness - a.likeness || (a.name < b.name ? -1 : 1))
    .slice(0, 3)
    .map(({ name }) => name);
}

/** The share of letter pairs two names have in common: 1 for the same, 0 for nothing alike. */
function likeness(a: string, b: string): number {
  if (a === b) return 1;
  const stem = (name: string) => name.replace(/(?<=.)\..*$/, "");
  if (stem(a) === stem(b)) return 0.9;
  const left = pairs(a);
  const right = pairs(b);
  const common = left.filter((pair) => {
    const at = right.indexOf(pair);
    if (at >= 0) right.splice(at, 1);
    return at >= 0;
  }).length;
  return (2 * common) / Math.max(1, a.length + b.length - 2);
}

function pairs(text: string): string[] {
  return Array.from({ length: Math.max(0, text.length - 1) }, (_, i) => text.slice(i, i + 2));
}
