const CALLED = "Cannot call process.exit";

/** Whether these are the words of a hook that tried to end the process. */
export function triedToExit(failure: string): boolean {
  return failure.startsWith(CALLED);
}

/**
 * Makes ending the process an error wherever `inHook` says so. A hook answers by what it returns: one that ended the
 * process would end the run in silence.
 */
export function refuseExit(inHook: () => boolean): void {
  const { Deno } = globalThis as unknown as { Deno?: Exits };
  for (const place of [process as Exits, ...(Deno ? [Deno] : [])]) {
    const own = place.exit;
    place.exit = (code) => {
      if (inHook()) throw new Error(`${CALLED}(${code ?? ""}) in a hook as that ends the run: return a verdict`);
      return own.call(place, code);
    };
  }
}

interface Exits {
  exit(code?: number | string | null): never;
}
