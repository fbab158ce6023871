// Loaded by each served hook: `node:fs` and `node:path` would take as long as half of what else it loads.

const above = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf("/")));

/** The folder of the code of this package: the sources, or what was built of them. */
export const CODE: string = above(import.meta.dirname ?? "");

/** The folder of this package. */
export const PACKAGE: string = above(CODE);

/** How a file of its code ends. */
export const CODE_ENDING: ".ts" | ".js" = CODE.endsWith("/lib") ? ".ts" : ".js";

/** What can be imported of this package: its `exports`, which take longer to read. */
export const PARTS: readonly string[] = [
  ...["crochet", "crochet/core", "crochet/tools", "crochet/testing", "crochet/testing/preload", "crochet/bun"],
  ...["crochet/vitest", "crochet/hosts", "crochet/durable", "crochet/durable/restate"],
];

/** @throws {Error} where this package was loaded from an address (as JSR gives it), so that it has no files to start */
export function needOwnFiles(action: string): void {
  if (import.meta.url.startsWith("file:")) return;
  throw new Error(`Cannot ${action} as this copy of crochet was loaded from an address: install npm:crochet`);
}

/** Whether a package is installed here or in a folder above. */
export function isFound(dir: string, name: string): boolean {
  return isAbove(dir, `node_modules/${name}/package.json`);
}

function isAbove(dir: string, name: string): boolean {
  return exists(`${dir}/${name}`) || (dir !== "" && isAbove(dir.slice(0, dir.lastIndexOf("/")), name));
}

function exists(path: string): boolean {
  const { Bun } = globalThis as { Bun?: { file(path: string): { readonly size: number } } };
  return Bun ? Bun.file(path).size > 0 : process.getBuiltinModule("node:fs").existsSync(path);
}

/** The files of this copy by the names under which they are imported. */
export function ownExports(): ReadonlyMap<string, string> {
  const manifest = `${PACKAGE}/package.json`;
  if (!exists(manifest)) return new Map();
  const exported: [string, { bun?: string; default?: string }][] = Object.entries(
    JSON.parse(process.getBuiltinModule("node:fs").readFileSync(manifest, "utf8")).exports ?? {},
  );
  return new Map(exported.flatMap(([path, { bun, default: built }]) => {
    const code = "Bun" in globalThis ? bun ?? built : built;
    return code === undefined ? [] : [[`crochet${path.slice(1)}`, `${PACKAGE}${code.slice(1)}`]];
  }));
}

let offered = false;

/**
 * Lets a script or a hook without an installed crochet import this copy. To be called before it is imported, as Bun
 * remembers what it could not find. Deno takes it only when it starts: `denoFlags`.
 */
export function offerOwnCopy(file: string): void {
  if (offered || "Deno" in globalThis || file.startsWith(`${PACKAGE}/`)) return;
  if (isFound(file.slice(0, file.lastIndexOf("/")), "crochet")) return;
  offered = true;
  if (!exists(`${PACKAGE}/package.json`)) return; // in a bundle
  const { Bun } = globalThis as { Bun?: Plugins };
  if (Bun) return provide(Bun);
  const own = ownExports();
  const { registerHooks } = process.getBuiltinModule("node:module");
  registerHooks?.({
    resolve: (name, context, next) => {
      const file = own.get(name);
      return file === undefined ? next(name, context) : { url: addressOf(file), shortCircuit: true };
    },
  });
}

function addressOf(file: string): string {
  return process.getBuiltinModule("node:url").pathToFileURL(file).href;
}

interface Plugins {
  plugin(options: { name: string; setup(build: Build): void }): void;
}

interface Build {
  module(name: string, load: () => Promise<{ exports: object; loader: "object" }>): void;
}

function provide(bun: Plugins): void {
  bun.plugin({
    name: "crochet for what is outside any project",
    setup(build) {
      for (const name of PARTS) {
        build.module(
          name,
          async () => ({ exports: await import(addressOf(ownExports().get(name)!)), loader: "object" }),
        );
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
  const config = `${PACKAGE}/deno.json`;
  if (exists(config)) return ["--config", config];
  if (!PACKAGE.includes("/node_modules/")) return [];
  const map = isFound(dir, "crochet") || ["deno.json", "deno.jsonc"].some((name) => isAbove(dir, name))
    ? []
    : [`--import-map=${PACKAGE}/dist/imports.json`];
  return ["--node-modules-dir=manual", ...map];
}
