import { existsSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { isObject, parsed, textsIn } from "../../core/json.ts";
import { isInside } from "../../files/confine.ts";
import { realOr } from "./user-places.ts";

/** What modules import: files of the project, and everything else by the name it is imported by. */
export interface Imports {
  /** Relative to the project. */
  readonly inside: readonly string[];
  readonly outside: readonly string[];
}

/** Reads a file; undefined if there is nothing that counts. */
export type ReadBytes = (path: string) => Uint8Array | undefined;

/** Specifiers as they are written; one that is put together while the module runs is not seen. */
const SPECIFIER = /\b(?:from|import|require)\s*\(?\s*(["'])([^"'\n]+)\1/g;
/** A text that may be a path: what `createRequire()` makes has any name, and may be called at once. */
const PATH = /(["'])(\.{1,2}\/[^"'\n]+|\/[^"'\n]+)\1/g;
const MODULE = /\.[cm]?[jt]sx?$/;
const ENDINGS = ["", ".ts", ".js", ".mjs", "/index.ts", "/index.js"];

/** What modules of a project import, and what that imports in turn. Nothing is imported. */
export function importsOf(project: string, modules: readonly string[], read: ReadBytes): Imports {
  const root = realOr(project);
  const seen = new Set(modules.map(realOr));
  const queue = [...seen].filter((path) => MODULE.test(path));
  const inside = new Set<string>();
  const outside = new Set<string>();
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const text = new TextDecoder().decode(read(path));
    const add = (found: string | undefined, name: string) => {
      if (found === undefined || !isInside(found, root)) outside.add(found ?? name);
      else if (!seen.has(found)) {
        seen.add(found);
        inside.add(relative(root, found));
        if (MODULE.test(found)) queue.push(found);
      }
    };
    const here = dirname(path);
    for (const [, , name = ""] of text.matchAll(SPECIFIER)) {
      const own = name.startsWith("#") ? ownImports(here, root, name, read) : [];
      for (const one of own) add(fileAt(one), one);
      if (own.length === 0) add(/^\.{0,2}\//.test(name) ? fileAt(resolve(here, name)) : undefined, name);
    }
    if (!text.includes("createRequire")) continue;
    outside.add("createRequire()");
    for (const [, , name = ""] of text.matchAll(PATH)) {
      const found = fileAt(resolve(here, name));
      if (found !== undefined) add(found, name);
    }
  }
  const isRuntime = (name: string) => /^(?:node|bun|deno):/.test(name);
  return { inside: [...inside].sort(), outside: [...outside].filter((name) => !isRuntime(name)).sort() };
}

function fileAt(path: string): string | undefined {
  const ending = ENDINGS.find((end) => existsSync(path + end) && statSync(path + end).isFile());
  return ending === undefined ? undefined : realOr(join(path + ending));
}

/** What a name of the package's own `imports` (`#lib/x`) may stand for, whatever the conditions are. */
function ownImports(from: string, root: string, name: string, read: ReadBytes): string[] {
  let folder = from;
  while (folder !== root && isInside(folder, root) && !existsSync(join(folder, "package.json"))) {
    folder = dirname(folder);
  }
  const file = join(folder, "package.json");
  const given = existsSync(file) ? parsed(new TextDecoder().decode(read(file))) : undefined;
  const imports = isObject(given) && isObject(given.imports) ? Object.entries(given.imports) : [];
  return imports.flatMap(([key, target]) => {
    const [before = "", after] = key.split("*");
    const fits = after === undefined ? key === name : name.startsWith(before) && name.endsWith(after);
    const star = name.slice(before.length, name.length - (after?.length ?? 0));
    return fits ? textsIn(target).map((text) => resolve(folder, text.replaceAll("*", star))) : [];
  });
}
