/** For the process, whichever copy of this package asks: a script may bring its own. */
const LOADING = Symbol.for("crochet.loading-scripts");
const loading: Set<string> = (globalThis as { [LOADING]?: Set<string> })[LOADING] ??= new Set();
/** The scripts that are still waited for. */
const awaited = new Set<string>();

/** Whether a command loads a script for what it exports, which then is not the program itself. */
export function isLoadingScript(): boolean {
  return loading.size > 0;
}

/**
 * Loads a script for what it exports. Meanwhile its `agent.main()` does nothing: a replay would ask the real model. One
 * that ends the process is reported: it would look as if all had gone well. `until` rejects once it is no longer waited
 * for; it may go on loading.
 */
export async function loadingScript<T>(
  path: string,
  load: () => Promise<T>,
  until?: (loaded: Promise<unknown>) => Promise<never>,
): Promise<T> {
  process.on("exit", ended);
  loading.add(path);
  awaited.add(path);
  const done = () => loading.delete(path);
  try {
    const loaded = load();
    loaded.then(done, done);
    return await (until ? Promise.race([loaded, until(loaded)]) : loaded);
  } finally {
    awaited.delete(path);
    process.off("exit", ended);
  }
}

function ended(code: number): void {
  if (code !== 0 || awaited.size === 0) return;
  const scripts = [...awaited].map((path) => `'${path}'`).join(" or ");
  awaited.clear(); // of several that are loaded together one has done it
  process.exitCode = 1;
  console.error(`crochet: Cannot load ${scripts} as it ended the process: do that only if (import.meta.main)`);
}
