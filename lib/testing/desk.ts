import type { ServerResponse } from "node:http";
import { parsed } from "../core/json.ts";
import { refuseInCi } from "../replay/tape-options.ts";
import { asksModel } from "../replay/server/api.ts";
import { type Incoming, listen, sendError } from "../replay/server/listen.ts";
import { type Env, placeholderKeys, variablesFor } from "../replay/server/pointing.ts";

/** The one server of a process that SDKs find by their variables, and what it answers by. */
export interface Desk {
  readonly url: string;
  /** The environment as it was: where requests go that are recorded. */
  readonly env: Env;
  /** The `recorded()` that runs: any other request is refused. */
  running?: Running | undefined;
}

export interface Running {
  readonly name: string;
  answer?: (incoming: Incoming, response: ServerResponse) => Promise<void>;
  /** Whether a model was asked anything. */
  wasAsked: boolean;
}

/** On the process, as runners load modules again for each test file. */
const KEY = Symbol.for("crochet.testing.desk");
const here = process as { [KEY]?: Promise<Desk> };

/** What was set and what was there before, for processes that this one starts: their own desk must not ask ours. */
const BEFORE = "CROCHET_DESK_BEFORE";
type Values = { readonly [name: string]: string | null };

/** Opens it, once, and points this process at it. */
export function openDesk(): Promise<Desk> {
  return here[KEY] ??= opened();
}

async function opened(): Promise<Desk> {
  set(before());
  const env = { ...process.env };
  const { url } = await listen((incoming, response) => answer(desk, incoming, response), { unref: true });
  const desk: Desk = { url, env };
  const pointed = { ...variablesFor(url, env), ...placeholderKeys(env) };
  const both = Object.entries(pointed).map(([name, is]) => [name, { is, was: env[name] ?? null }]);
  set({ ...pointed, [BEFORE]: JSON.stringify(Object.fromEntries(both)) });
  return desk;
}

/** The variables as they were before a desk set them, without those that were changed since. */
function before(): Values {
  const both = parsed(process.env[BEFORE] ?? "{}") as { [name: string]: { is: string; was: string | null } };
  const own = Object.entries(both).filter(([name, { is }]) => process.env[name] === is);
  return Object.fromEntries(own.map(([name, { was }]) => [name, was]));
}

function answer({ running }: Desk, incoming: Incoming, response: ServerResponse): Promise<void> {
  response.setHeader("connection", "close"); // Deno counts what a test leaves open
  if (running?.answer) {
    running.wasAsked ||= asksModel(incoming.sent);
    return running.answer(incoming, response);
  }
  const why = 'no recorded() runs: await recorded("<name>", () => …)';
  return Promise.resolve(sendError(response, incoming.sent.api, 400, `Cannot ask a model here as ${why}`));
}

function set(values: Values): void {
  for (const [name, value] of Object.entries(values)) {
    if (value === null) delete process.env[name];
    else process.env[name] = value;
  }
}

/** Does something with the environment as it was, such as asking the real API. */
export async function withoutDesk<T>(work: () => Promise<T>): Promise<T> {
  const was = before();
  const pointed = Object.fromEntries(Object.keys(was).map((name) => [name, process.env[name] ?? null]));
  set(was);
  try {
    return await work();
  } finally {
    set(pointed);
  }
}

/** Whether CROCHET_RECORD asks to record what is missing or drifts. @throws {TypeError} if it does in CI */
export function recordsHere(name: string): boolean {
  if (/^(?:0|false)?$/.test(process.env.CROCHET_RECORD ?? "")) return false;
  refuseInCi("record", name, process.env);
  return true;
}

/** The command that records, for the runner of these tests. */
export function recordCommand(): string {
  const own = "Bun" in globalThis ? "bun test" : "Deno" in globalThis ? "deno test -A" : "node --test";
  return `CROCHET_RECORD=1 ${process.env.VITEST ? "npx vitest run" : own}`;
}
