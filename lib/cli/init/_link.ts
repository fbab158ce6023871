import { existsSync, mkdirSync, readdirSync, rmdirSync, symlinkSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Origin } from "./_templates.ts";

/**
 * Makes `crochet` resolve at once, as an install would: by a link, unless it is found already. Deno looks in the
 * project for the types that the sources of a clone name, so these are linked too.
 *
 * @returns what takes the links away again
 */
export function linkPackages(dir: string, { root, clone }: Origin): () => void {
  const modules = join(dir, "node_modules");
  const packages = { crochet: root, ...(clone && { "@types/node": join(root, "node_modules/@types/node") }) };
  const missing = Object.entries(packages).filter(([name, from]) => existsSync(from) && !isFound(dir, name));
  for (const [name, from] of missing) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(from, join(modules, name), "dir");
  }
  return () => {
    for (const [name] of missing) unlinkSync(join(modules, name));
    if (missing.length > 0 && readdirSync(modules).length === 0) rmdirSync(modules);
  };
}

/** Whether a package is installed here or in a folder above. */
export function isFound(dir: string, name: string): boolean {
  if (existsSync(join(dir, "node_modules", name, "package.json"))) return true;
  return dir !== dirname(dir) && isFound(dirname(dir), name);
}
