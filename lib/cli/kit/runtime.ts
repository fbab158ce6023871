import { PACKAGE } from "../../runtime/own-copy.ts";

/** Prints a line to stdout, even if the console was redirected. */
export const ownLog: (line: string) => void = console.log;

const LINES = ["log", "info", "debug"] as const;
/** The other methods of a console that print to stdout, with the methods that indent or clear what they print. */
const SHAPES = [
  ...["dir", "dirxml", "table", "group", "groupCollapsed", "groupEnd"] as const,
  ...["count", "countReset", "time", "timeEnd", "timeLog"] as const,
];

/** Sends what others print with the console to stderr, until the returned function is called. */
export function consoleAside(): () => void {
  const own = [...LINES, ...SHAPES, "trace" as const].map((name) => [name, console[name]] as const);
  for (const name of LINES) console[name] = console.error;
  let aside: Pick<Console, typeof SHAPES[number]> | undefined;
  const stderrs = () => aside ??= new (process.getBuiltinModule("node:console").Console)(process.stderr);
  for (const name of SHAPES) console[name] = (...given: unknown[]) => (stderrs()[name] as Print)(...given);
  console.trace = (...given) => console.error(...given, new Error("Trace").stack);
  return () => {
    for (const [name, print] of own) console[name] = print;
  };
}

type Print = (...given: unknown[]) => void;

/**
 * Sends everything a module prints to stderr, for good: while a hook is served, stdout is its answer and nothing else. A
 * host reads JSON with other output before it as plain text, and would miss the refusal in it.
 */
export function printAside(): void {
  consoleAside();
  if ("write" in console) {
    // One that only Bun has.
    (console as { write: Print }).write = (...parts) => void process.stderr.write(parts.join(""));
  }
  // Making a stream of node takes longer than all the rest, so it is made when it is first used.
  const stdout = new Proxy({}, {
    get: (_, key) => {
      const value = Reflect.get(process.stderr, key);
      return typeof value === "function" ? value.bind(process.stderr) : value;
    },
  });
  if (Reflect.set(process, "stdout", stdout)) return;
  // Node's own console looks its stream up once, when it is first asked for.
  Reflect.get(console, "_stdout");
  Object.defineProperty(process, "stdout", { value: stdout });
}

/**
 * Keeps the process alive when a hook or a tool throws an error that is not caught: its answer still counts. For Deno
 * and Node, which would end the process, and with it the run or the refusal of a guard; Bun does not.
 */
export function outliveStrays(): void {
  const report = (error: unknown) => {
    console.error(error);
    // If the error is ours and ends the command, no other exit code is set.
    process.exitCode = 1;
  };
  process.on("uncaughtException", report);
  process.on("unhandledRejection", report);
}

/**
 * Makes the runtime keep what it compiles for the next start. It is kept inside the package, where only someone who
 * can change the code can change it; if this process cannot write there, nothing is kept. Deno keeps its own.
 */
export function keepCompiled(): void {
  const module: { enableCompileCache?(folder: string): unknown } = process.getBuiltinModule("node:module");
  module.enableCompileCache?.(COMPILED);
}

const COMPILED = `${PACKAGE}/node_modules/.cache/crochet`;

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
