// What is installed for other hosts starts here: no table of commands, no word to look up in it, and nothing imported
// before it is known which files to take.

type Served = typeof import("./_hook-command.ts");

/** Bun has it in every module. */
declare function require(path: string): Served;

/** A package has all of it in one file too, compiled by the Bun that built it: any other would take longer over it. */
async function served(): Promise<Served> {
  const { Bun } = globalThis as { Bun?: { readonly revision: string; file(path: string): { readonly size: number } } };
  const file = `${import.meta.dirname}/hook-${Bun?.revision}.js`;
  if (Bun && Bun.file(file).size > 0) return require(file);
  (await import("./kit/runtime.ts")).keepCompiled();
  return await import("./_hook-command.ts");
}

// Bun ends a module that waits sooner than a process that does.
if (import.meta.main) process.exit(await (await served()).hookProcess(process.argv.slice(2)));
