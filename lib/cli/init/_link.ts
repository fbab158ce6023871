import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { isFound } from "../_own-copy.ts";
import type { Origin } from "./_templates.ts";

/**
 * Makes `crochet` resolve at once, as an install would: by a link, unless it is found already. Deno looks in the
 * project for the types that the sources of a clone name, so these are linked too.
 *
 * @returns a function that removes the links
 */
export function linkPackages(dir: string, { root, clone }: Origin): () => void {
  const modules = join(dir, "node_modules");
  const had = existsSync(modules);
  const packages = { crochet: root, ...(clone && { "@types/node": join(root, "node_modules/@types/node") }) };
  const missing = Object.entries(packages).filter(([name, from]) => existsSync(from) && !isFound(dir, name));
  for (const [name, from] of missing) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(from, join(modules, name), "dir");
  }
  return () => {
    for (const [name] of missing) rmSync(join(modules, name), { force: true });
    if (!had) rmSync(modules, { recursive: true, force: true });
  };
}
