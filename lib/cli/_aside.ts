/** What prints to stdout by way of the console. */
const PRINTS = ["log", "info", "debug", "dir", "dirxml", "table", "group", "groupCollapsed"] as const;

/** Prints a line to stdout, whatever has become of the console. */
export const ownLog: (line: string) => void = console.log;

/** Sends what others print to stderr until the function it gives is called: stdout is for what was asked for alone. */
export function consoleAside(): () => void {
  const own = PRINTS.map((name) => [name, console[name]] as const);
  for (const name of PRINTS) console[name] = console.error;
  return () => {
    for (const [name, print] of own) console[name] = print;
  };
}

/**
 * The same for all that a module prints. Of a hook that is served, stdout is the answer and nothing else: a host takes an
 * object with words before it for words, and the refusal in it for none.
 */
export async function printAside(file: string): Promise<() => void> {
  const restore = consoleAside();
  // To look at node's stream takes longer than all the rest: that is done for those who name it.
  const stdout = (await textOf(file)).includes("stdout") ? process.stdout : undefined;
  const write = stdout?.write;
  if (stdout) stdout.write = process.stderr.write.bind(process.stderr);
  return () => {
    restore();
    if (stdout) stdout.write = write!;
  };
}

/** By the runtime's own reader, which is there already; a file that cannot be read prints nothing. */
async function textOf(file: string): Promise<string> {
  const { Bun, Deno } = globalThis as unknown as {
    Bun?: { file(path: string): { text(): Promise<string> } };
    Deno?: { readTextFile(path: string): Promise<string> };
  };
  try {
    if (Bun) return await Bun.file(file).text();
    return Deno ? await Deno.readTextFile(file) : process.getBuiltinModule("node:fs").readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
