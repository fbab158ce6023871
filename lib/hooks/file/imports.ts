import { existsSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { isInside } from "../../files/confine.ts";
import { realOr } from "./user-places.ts";

/** What modules import: files of the project, and everything else by the name it is imported by. */
export interface Imports {
  /** Relative to the project. */
  readonly inside: readonly string[];
  readonly outside: readonly string[];
}

/** Specifiers as they are written; one that is put together while the module runs is not seen. */
const SPECIFIER = /\b(?:from|import|require)\s*\(?\s*(["'])([^"'\n]+)\1/g;
const MODULE = /\.[cm]?[jt]sx?$/;
const ENDINGS = ["", ".ts", ".js", ".mjs", "/index.ts", "/index.js"];

/** What modules of a project import, and what that imports in turn. Nothing is imported. */
export function importsOf(
  project: string,
  modules: readonly string[],
  read: (path: string) => Uint8Array | undefined,
): Imports {
  const root = realOr(project);
  const seen = new Set(modules.map(realOr));
  const queue = [...seen].filter((path) => MODULE.test(path));
  const inside = new Set<string>();
  const outside = new Set<string>();
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const text = new TextDecoder().decode(read(path));
    for (const [, , name] of text.matchAll(SPECIFIER)) {
      const found = /^\.{0,2}\//.test(name!) ? fileAt(resolve(dirname(path), name!)) : undefined;
      if (found === undefined || !isInside(found, root)) outside.add(found ?? name!);
      else if (!seen.has(found)) {
        seen.add(found);
        inside.add(relative(root, found));
        if (MODULE.test(found)) queue.push(found);
      }
    }
  }
  const isRuntime = (name: string) => /^(?:node|bun|deno):/.test(name);
  return { inside: [...inside].sort(), outside: [...outside].filter((name) => !isRuntime(name)).sort() };
}

function fileAt(path: string): string | undefined {
  const ending = ENDINGS.find((end) => existsSync(path + end) && statSync(path + end).isFile());
  return ending === undefined ? undefined : realOr(join(path + ending));
}
