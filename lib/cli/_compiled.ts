/**
 * Makes the runtime keep what it compiles for the next start. It is kept inside the package, where only someone who
 * can change the code can change it; if this process cannot write there, nothing is kept. Deno keeps its own.
 */
export function keepCompiled(): void {
  const module: { enableCompileCache?(folder: string): unknown } = process.getBuiltinModule("node:module");
  module.enableCompileCache?.(COMPILED);
}

const COMPILED = `${import.meta.dirname}/../../node_modules/.cache/crochet`;

/** Four times what the package itself makes: the rest is from scripts, many of them gone. */
const MOST_COMPILED = 2000;

/** Removes what was compiled once it is too much: the runtime keeps a file for every path it ever loaded. */
export function boundCompiled(): void {
  const { readdirSync, rmSync } = process.getBuiltinModule("node:fs");
  try {
    for (const version of readdirSync(COMPILED)) {
      const folder = `${COMPILED}/${version}`;
      if (readdirSync(folder).length > MOST_COMPILED) rmSync(folder, { recursive: true });
    }
  } catch {
    // there is nothing, or another process is at it
  }
}
