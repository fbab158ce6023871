import { execFileSync } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { RUNTIME } from "./_runtime.ts";
import { scratch } from "./_scratch.ts";

/**
 * What a script prints beside a copy of `lib` that has neither what `bun run build` makes nor any package but those
 * among the files given.
 */
export function besideCopy(script: string, files: { readonly [path: string]: string }): string {
  using folder = scratch({ "package.json": '{ "type": "module" }', ...files, "try.ts": script });
  cpSync(fileURLToPath(new URL("../lib", import.meta.url)), join(folder.path, "lib"), { recursive: true });
  const [program, ...args] = RUNTIME;
  // Else Bun takes what is missing from its cache, or from the registry.
  args.push("Deno" in globalThis ? "--node-modules-dir=manual" : "--no-install");
  return execFileSync(program, [...args, "try.ts"], { encoding: "utf8", cwd: folder.path });
}
