import { mkdtempSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { thrownWords } from "../../core/shown.ts";
import { CODE, CODE_ENDING } from "../../runtime/own-copy.ts";
import { removeTree } from "../../files/tree.ts";

/** What hooks may import of crochet inside a mod: the rest needs a disk, or a network. */
const CORE = `${CODE}/core/index${CODE_ENDING}`;

/** Globals of other runtimes that Claude Code gives no module. */
const MISSING =
  ("process Buffer fetch Bun Deno Worker WeakRef queueMicrotask EventTarget Event Headers Request Response FormData Blob " +
    "File URLPattern setImmediate ReadableStream FinalizationRegistry SharedArrayBuffer WebSocket navigator global " +
    "BroadcastChannel MessageChannel WebAssembly Atomics CompressionStream DOMException").split(" ");

interface PathRequest {
  readonly path: string;
}

/**
 * Bundles modules for the inside of Claude Code: `unfit` says why it would not take the code. A builtin or a global that is
 * missing there gets a name of ours, found in the code only if it is used. @throws {Error} in the words of the bundler
 */
export async function modBundle(source: string, minify = false): Promise<{ code: string; unfit: string | undefined }> {
  const builtins: string[] = [];
  const code = await bundle(source, {
    target: "browser",
    minify: { whitespace: minify },
    define: Object.fromEntries(MISSING.map((name) => [name, `CROCHET_MISSING_${name}`])),
    plugins: [{
      name: "mod",
      setup(build: any) {
        build.onResolve({ filter: /^crochet(?:\/core)?$/ }, () => ({ path: CORE }));
        build.onResolve({ filter: /^[a-z]/ }, ({ path }: PathRequest) => {
          return isBuiltin(path) || /^(?:bun|deno):/.test(path) ? { path, namespace: "builtin" } : undefined;
        });
        build.onLoad({ filter: /^/, namespace: "builtin" }, ({ path }: PathRequest) => {
          const named = `/* @__PURE__ */ CROCHET_BUILTIN_${builtins.push(path) - 1}()`;
          const names = Object.keys(process.getBuiltinModule(path) ?? {}).filter((name) =>
            /^(?!default$)\w+$/.test(name)
          );
          const lines = names.map((name) => `export const ${name} = ${named};`);
          return { loader: "js", contents: [...lines, `export default ${named};`].join("\n") };
        });
      },
    }],
  });
  return { code, unfit: unfitIn(code, builtins) };
}

function unfitIn(code: string, builtins: readonly string[]): string | undefined {
  const [, builtin] = /\bCROCHET_BUILTIN_(\d+)/.exec(code) ?? [];
  if (builtin !== undefined) return `it imports ${builtins[Number(builtin)]}`;
  const [, missing] = /\bCROCHET_MISSING_(\w+)/.exec(code) ?? [];
  if (missing !== undefined) return `it uses ${missing}, which a mod does not have`;
  const bare = code.replace(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g, "");
  return /\bimport\s*\(/.test(bare) ? IMPORTS : undefined;
}

export const IMPORTS = "it imports at run time";

async function bundle(source: string, options: object): Promise<string> {
  const { Bun } = globalThis as any;
  const folder = mkdtempSync(join(tmpdir(), "crochet-mod-"));
  try {
    const entry = join(folder, "mod.js");
    writeFileSync(entry, source);
    const built = await Bun.build({ entrypoints: [entry], format: "esm", throw: false, ...options });
    if (built.success) return await built.outputs[0]!.text();
    throw new Error(built.logs.map(thrownWords).join("; "));
  } finally {
    removeTree(folder);
  }
}
