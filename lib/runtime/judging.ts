import { CODE } from "./own-copy.ts";

interface WayOut {
  /** As it was called: `process.exit(0)`. */
  readonly call: string;
  /** With its place, if that is known: `process.exit(0) at price.ts:5`. */
  readonly words: string;
}

/** Work that must not end the process. */
interface Scope {
  /** What the code that tried gets. */
  readonly refusal: (way: WayOut) => string;
  readonly tried: WayOut[];
  readonly above: Scope | undefined;
  /** Whose code it is: a call may leave no line in the stack. */
  readonly name: string | undefined;
  isOpen: boolean;
}

type Scopes = InstanceType<typeof import("node:async_hooks").AsyncLocalStorage<Scope>>;

/** Whose code runs. Timers and promises keep it, and what is called after its scope has ended is refused too. */
let inside: Scopes | undefined;
/** Scopes of the whole process, the innermost last: where the code that runs lacks its own, as in a module that Bun loads. */
const around: Scope[] = [];
/** Items that are judged now. */
const judged = new Set<Scope>();
/** Learns of each try that belongs to none of them. */
let stray: ((way: WayOut) => void) | undefined;

interface Exits {
  exit(code?: number | string | null): never;
  reallyExit?(code?: number | string | null): never;
}

let isWatched = false;

/** Puts a check before every way out of the process, once. All of them: one that was missed would end it with 0. */
function watchExits(): void {
  if (isWatched) return;
  isWatched = true;
  const { Deno } = globalThis as unknown as { Deno?: Exits };
  for (const [name, place] of [["process", process as Exits], ["Deno", Deno]] as const) {
    for (const way of ["exit", "reallyExit"] as const) {
      const own = place?.[way];
      if (!own) continue;
      place[way] = (code) => {
        refuse(`${name}.${way}(${code ?? ""})`);
        return own.call(place, code);
      };
    }
  }
  // Who imports a way out by its name gets the one with the check.
  process.getBuiltinModule("node:module").syncBuiltinESMExports?.();
}

/** Made with the first scope that has work of its own: a process that serves one hook goes without, as loading it takes a sixth of its time. */
function scopes(): Scopes {
  if (inside) return inside;
  const { AsyncLocalStorage } = process.getBuiltinModule("node:async_hooks");
  return inside = new AsyncLocalStorage<Scope>();
}

/** @throws {Error} if the code that runs must not end the process; code that catches it has tried all the same */
function refuse(call: string): void {
  const own = inside?.getStore();
  const scope = own ?? around.at(-1) ?? [...judged][0];
  if (!scope && !stray) return;
  const place = placeIn(new Error().stack ?? "");
  const where = place ?? own?.name;
  const way = { call, words: where === undefined ? call : `${call} at ${where}` };
  let isKnown = false;
  // Without a scope of its own any that is open may be the one.
  const chain = own ? linesUp(own) : [...around, ...stray ? [] : judged];
  for (const one of chain.filter(({ isOpen }) => isOpen)) {
    isKnown = true;
    one.tried.push(way);
  }
  if (!isKnown) stray?.(way);
  throw new Error((scope?.refusal ?? endsProcess)(way));
}

function linesUp(scope: Scope): Scope[] {
  return scope.above ? [scope, ...linesUp(scope.above)] : [scope];
}

const endsProcess = ({ words }: WayOut) => `It ends the process: ${words}`;

/** The file and line of the code that called us, without its folder. */
function placeIn(stack: string): string | undefined {
  // What our own frames name is not whose code it is.
  for (const line of stack.split("\n").slice(1)) {
    const [, path, at] = /((?:file:\/)?\/[^\s()]*):(\d+):\d+\)?$/.exec(line) ?? [];
    if (path !== undefined && !path.includes(`${CODE}/`)) {
      return `${path.slice(path.lastIndexOf("/") + 1).replace(/[?].*/, "")}:${at}`;
    }
  }
  return undefined;
}

function opened(refusal: Scope["refusal"], name?: string): Scope {
  watchExits();
  return { refusal, tried: [], above: inside?.getStore(), name, isOpen: true };
}

/** Runs what must not end the process and returns at once or later, such as a hook: its try is refused with these words. */
export function withoutExit<T>(refusal: (way: WayOut) => string, work: () => T, name?: string): T {
  const scope = opened(refusal, name);
  return scopes().run(scope, work);
}

/**
 * Judges an item: a try to end the process in its work, also one that is caught, is what comes of it.
 *
 * @throws {EndsProcess} if it tried
 */
export async function judging<T>(work: () => Promise<T>): Promise<T> {
  const scope = opened(endsProcess);
  judged.add(scope);
  try {
    const done = await scopes().run(scope, work).catch((error) => {
      if (scope.tried.length === 0) throw error;
    });
    if (scope.tried.length > 0) throw new EndsProcess(scope.tried[0]!);
    return done as T;
  } finally {
    scope.isOpen = false;
    judged.delete(scope);
  }
}

/** The same, with what a try makes of it in place of an error. */
export function judgingOr<T>(work: () => Promise<T>, ended: (words: string) => T): Promise<T> {
  return judging(work).catch((error) => {
    if (error instanceof EndsProcess) return ended(error.message);
    throw error;
  });
}

/** What was judged tried to end the process. */
class EndsProcess extends Error {
  override name = "EndsProcess";
  constructor(way: WayOut) {
    super(endsProcess(way));
  }
}

/** Until it ends a try is refused with these words wherever it is made: for a process that loads a module, or runs but one hook. */
export function refuseExits(refusal: (way: WayOut) => string) {
  const scope = opened(refusal);
  around.push(scope);
  return {
    /** @throws {Error} if a way out was tried, even if that was caught */
    expectNone: () => {
      if (scope.tried.length > 0) throw new Error(refusal(scope.tried[0]!));
    },
    end: () => {
      scope.isOpen = false;
      around.splice(around.indexOf(scope), 1);
    },
  };
}

/** What a hook that tries gets: it answers by what it returns, and would end the run in silence. */
export const refusedToHook = ({ call }: WayOut) =>
  `Cannot call ${call} in a hook as that ends the run: return a verdict`;

/**
 * Arms the process: until it ends this does not end with 0. A try of code that belongs to no item is passed to `found`;
 * if the process ends all the same, `tell` writes what is known, synchronously, unless that was `reported` by then.
 */
export function armed(
  tell: () => void,
  found: (way: WayOut) => void,
): { readonly reported: () => void; readonly end: () => void } {
  watchExits();
  const before = stray;
  let isReported = false;
  const ended = (code: number) => {
    if (!isReported) tell();
    if (code === 0) process.exitCode = 1;
  };
  stray = found;
  process.on("exit", ended);
  return {
    reported: () => isReported = true,
    end: () => {
      stray = before;
      process.off("exit", ended);
    },
  };
}
