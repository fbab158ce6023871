import type { Context } from "../core/hook.ts";
import type { Model } from "../core/model.ts";
import { fromHost, type Host, type HostEvent } from "./serving/from-host.ts";
import { ServedEnv } from "./serving/served-env.ts";
import type { Served } from "./serving/to-host.ts";

export type { Host } from "./serving/from-host.ts";

export interface ServeOptions {
  readonly host: Host;
  /** For a file whose name does not say it: `stop`, `pre-tool-use@Bash`. */
  readonly event?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** Whom a prompt hook asks; loaded when there is one. @default nobody */
  readonly model?: () => Promise<Model | undefined>;
  /** What the hook, a module, has done already. */
  readonly tried?: Tried | undefined;
}

/** One file and one event of a host. */
export interface Serving {
  readonly path: string;
  readonly stdin: string;
  readonly heard: HostEvent;
  readonly env: ServedEnv;
  readonly options: ServeOptions;
}

/** What a module did when it was asked: an answer, or a throw. */
export interface Tried {
  readonly config: object;
  /** What it was asked in, as far as it looked at that. */
  readonly ctx?: Context;
  readonly env?: ServedEnv;
  readonly answer?: unknown;
  readonly error?: unknown;
}

const SILENCE: Served = { stdout: "", stderr: "", code: 0 };

/** Serves one hook file over the command protocol of a host: what that wrote to stdin in, what it reads back out. */
export async function serve(path: string, stdin: string, options: ServeOptions): Promise<Served> {
  let heard: HostEvent | undefined;
  try {
    const told = JSON.parse(stdin);
    if (typeof told.hook_event_name !== "string") throw new TypeError("Cannot read an event without a name");
    heard = fromHost(told, options.host);
  } catch {
    return { stdout: "", stderr: `Cannot serve '${path}' as stdin holds no event: expected a JSON object\n`, code: 1 };
  }
  if (!heard) return SILENCE;
  const { tried } = options;
  const env = tried?.env ?? new ServedEnv(heard, options);
  const serving: Serving = { path, stdin, heard, env, options };
  const served = tried
    ? await (await import("./serving/serve-answer.ts")).serveAnswer(serving, tried)
    : await (await import("./serving/serve-whole.ts")).serveWhole(serving);
  return { ...served, stderr: served.stderr + env.keepValues() };
}
