/** Prints a line to stdout, whatever has become of the console. */
export const ownLog: (line: string) => void = console.log;

const LINES = ["log", "info", "debug"] as const;
/** What a runtime may print to stdout besides plain lines, and what belongs to that. */
const SHAPES = [
  ...["dir", "dirxml", "table", "group", "groupCollapsed", "groupEnd"] as const,
  ...["count", "countReset", "time", "timeEnd", "timeLog"] as const,
];

/** Sends what others print by way of the console to stderr, until the function it gives is called. */
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
 * Sends all that a module prints to stderr, for good: where a hook is served stdout is its answer and nothing else. A
 * host takes an object with words before it for words, and the refusal in it for none.
 */
export function printAside(): void {
  consoleAside();
  if ("write" in console) {
    // One that only Bun has.
    (console as { write: Print }).write = (...parts) => void process.stderr.write(parts.join(""));
  }
  // Looking at a stream of node takes longer than all the rest, so one that nobody looks at is not made.
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
 * Goes on where a hook or a tool lets an error fall that nobody catches: what it answers counts all the same. For Deno
 * and Node, which would end the process, and with it the run, or the refusal of a guard; Bun does so by itself.
 */
export function outliveStrays(): void {
  const tell = (error: unknown) => {
    console.error(error);
    // For an error of ours that ends everything: no exit code of a command comes after it.
    process.exitCode = 1;
  };
  process.on("uncaughtException", tell);
  process.on("unhandledRejection", tell);
}
