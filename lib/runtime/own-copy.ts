import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileUrl } from "./importing.ts";

/** The folder of this package. */
export const PACKAGE = join(import.meta.dirname ?? "/", "../..");

/** @throws {Error} where this package was loaded from an address (as JSR gives it), so that it has no files to start */
export function needOwnFiles(action: string): void {
  if (import.meta.url.startsWith("file:")) return;
  throw new Error(`Cannot ${action} as this copy of crochet was loaded from an address: install npm:crochet`);
}

/** Whether a package is installed here or in a folder above. */
export function isFound(dir: string, name: string): boolean {
  if (existsSync(join(dir, "node_modules", name, "package.json"))) return true;
  return dir !== dirname(dir) && isFound(dirname(dir), name);
}

/** The files of this copy by the names under which they are imported. */
export function ownExports(): ReadonlyMap<string, string> {
  const manifest = join(PACKAGE, "package.json");
  if (!existsSync(manifest)) return new Map();
  const exported: [string, { bun?: string; default?: string }][] = Object.entries(
    JSON.parse(readFileSync(manifest, "utf8")).exports ?? {},
  );
  return new Map(exported.flatMap(([path, { bun, default: built }]) => {
    const code = "Bun" in globalThis ? bun ?? built : built;
    return code === undefined ? [] : [[`crochet${path.slice(1)}`, join(PACKAGE, code)]];
  }));
}

let offered = false;

/**
 * Lets a script or a hook without an installed crochet import this copy. To be called before it is imported, as Bun
 * remembers what it could not find. Deno can be told only when it starts: `denoFlags`.
 */
export function offerOwnCopy(file: string): void {
  if (offered || "Deno" in globalThis || file.startsWith(`${PACKAGE}/`) || isFound(dirname(file), "crochet")) return;
  offered = true;
  const own = ownExports();
  if (own.size === 0) return; // in a bundle
  const { Bun } = globalThis as { Bun?: Plugins };
  if (Bun) return provide(Bun, own);
  const { registerHooks } = process.getBuiltinModule("node:module");
  registerHooks?.({
    resolve: (name, context, next) => {
      const file = own.get(name);
      return file === undefined ? next(name, context) : { url: fileUrl(file), shortCircuit: true };
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
    name: "crochet for what is outside any project",
    setup(build) {
      for (const [name, file] of own) {
        build.module(name, async () => ({ exports: await import(fileUrl(file)), loader: "object" }));
      }
    },
  });
}

/**
 * The flags by which Deno runs a file of this package in a directory, as the launcher has them: a clone has settings of
 * its own, an installed package finds its packages beside itself, and where no project says what 'crochet' is, it is this
 * copy. What Deno has in its cache it finds by name alone.
 */
export function denoFlags(dir: string = process.cwd()): string[] {
  const config = join(PACKAGE, "deno.json");
  if (existsSync(config)) return ["--config", config];
  if (!PACKAGE.includes("/node_modules/")) return [];
  const map = isFound(dir, "crochet") || hasSettings(dir) ? [] : [`--import-map=${join(PACKAGE, "dist/imports.json")}`];
  return ["--node-modules-dir=manual", ...map];
}

function hasSettings(dir: string): boolean {
  if (existsSync(join(dir, "deno.json")) || existsSync(join(dir, "deno.jsonc"))) return true;
  return dir !== dirname(dir) && hasSettings(dirname(dir));
}
