import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The folder of this package. */
export const PACKAGE = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

/** Whether a package is installed here or in a folder above. */
export function isFound(dir: string, name: string): boolean {
  if (existsSync(join(dir, "node_modules", name, "package.json"))) return true;
  return dir !== dirname(dir) && isFound(dirname(dir), name);
}

/** Lets a script without an installed crochet import this copy. Deno gets an import map from the launcher instead. */
export function offerOwnCopy(script: string): void {
  if ("Deno" in globalThis || script.startsWith(`${PACKAGE}/`) || isFound(dirname(script), "crochet")) return;
  const { exports } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
  const from = "Bun" in globalThis ? "bun" : "default";
  const own = new Map(
    Object.entries<{ [condition: string]: string }>(exports)
      .filter(([, file]) => file[from] !== undefined)
      .map(([path, file]) => [`crochet${path.slice(1)}`, pathToFileURL(join(PACKAGE, file[from]!)).href]),
  );
  const { Bun } = globalThis as { Bun?: Plugins };
  if (Bun) return provide(Bun, own);
  const { registerHooks } = process.getBuiltinModule("node:module");
  registerHooks?.({
    resolve: (name, context, next) => {
      const url = own.get(name);
      return url === undefined ? next(name, context) : { url, shortCircuit: true };
    },
  });
}

interface Plugins {
  plugin(options: { name: string; setup(build: Build): void }): void;
}

interface Build {
  module(name: string, load: () => Promise<{ exports: object; loader: "object" }>): void;
}

function provide(bun: Plugins, own: ReadonlyMap<string, string>): void {
  bun.plugin({
    name: "crochet for scripts outside any project",
    setup(build) {
      for (const [name, url] of own) build.module(name, async () => ({ exports: await import(url), loader: "object" }));
    },
  });
}
