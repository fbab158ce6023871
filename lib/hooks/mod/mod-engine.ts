import { isThenable, systemClock } from "../../core/clock.ts";
import type { HookFiles, HookRecord } from "../../core/hook.ts";
import { OutOfTime } from "../../core/verdict.ts";
import { absolute, filesOn, orAbsent } from "../hook-files.ts";

interface RunOptions {
  readonly cwd?: string;
  readonly stdin?: string;
  readonly env?: { readonly [name: string]: string };
  readonly timeoutMs?: number;
}

/** What `$` of Claude Code can do, as closures: the program lets no module pass `$` on. */
export interface ModEngine {
  readonly signal: AbortSignal;
  readonly root: string;
  session(): Promise<{ readonly id: string; readonly cwd: string }>;
  log(text: string): void;
  /** Notes, for the settings hooks beside the mod, that it is loaded in a session. */
  mark(session: string): unknown;
  abort(turn: { readonly turnId: string | undefined }): Promise<unknown>;
  submit(prompt: { readonly text: string }): Promise<unknown>;
  run(argv: readonly string[], options: RunOptions): Promise<{ exitCode: number; stdout: string; stderr: string }>;
  complete(
    request: object,
  ): Promise<{ readonly isAnswered: boolean; readonly text?: string; readonly reason?: string }>;
  read(path: string): Promise<string>;
  write(path: string, text: string): Promise<void>;
  list(path: string): Promise<readonly { readonly name: string }[]>;
  stat(path: string): Promise<{ readonly isLink: boolean }>;
}

/** An engine that knows whether it is at work: that time is not the hook's own. */
export interface WatchedEngine extends ModEngine {
  readonly isWorking: () => boolean;
}

export function watched(engine: ModEngine): WatchedEngine {
  let working = 0;
  const during = <A extends unknown[], R>(call: (...args: A) => Promise<R>) => (...args: A): Promise<R> => {
    working++;
    return call(...args).finally(() => working--);
  };
  const { run, complete, read, write, list, stat } = engine;
  return {
    ...{ ...engine, run: during(run), complete: during(complete), read: during(read), write: during(write) },
    ...{ list: during(list), stat: during(stat), isWorking: () => working > 0 },
  };
}

/** Claude Code ends a handler after 10 s of its own: a hook that is over before that fails by itself. */
export const MOST_OWN_SECONDS = 9;
const TICK_MS = 100;

/** The hook with the time that the program gives it. */
export function ownTime(record: HookRecord, engine: WatchedEngine): HookRecord {
  const timeUp = async (over: AbortSignal) => {
    for (let left = MOST_OWN_SECONDS * 1000; left > 0; left -= engine.isWorking() ? 0 : TICK_MS) {
      await systemClock.sleep(TICK_MS, over);
      if (over.aborted) return;
    }
    throw new OutOfTime(`it took longer than the ${MOST_OWN_SECONDS} s that a mod has`);
  };
  return {
    ...record,
    run: (event, ctx) => {
      const answer = record.run(event, ctx);
      if (!isThenable(answer)) return answer;
      const over = new AbortController();
      return Promise.race([answer, timeUp(over.signal)]).finally(() => over.abort());
    },
  };
}

/** The files of hooks inside the program, which cannot say where a link leads: a path through one is refused. */
export function diskOf({ read, write, list, stat }: ModEngine, cwd: string): HookFiles {
  return filesOn({
    read: (path) => orAbsent(read(path), undefined),
    write,
    list: async (path) => (await orAbsent(list(path), [])).map(({ name }) => name),
    real: async (path) => {
      // Where the session is, the program has looked itself.
      const known = path === cwd || path.startsWith(`${cwd}/`) ? cwd : "";
      let at = known;
      for (const part of path.slice(known.length).split("/").filter((name) => name !== "")) {
        at = absolute(at || "/", part);
        const found = await orAbsent(stat(at), undefined);
        if (found === undefined) return undefined;
        if (found.isLink) throw new Error(`Cannot follow the link '${at}' as a mod has no real paths: name the file`);
      }
      return path;
    },
  }, cwd);
}
