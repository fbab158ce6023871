import type { ServerResponse } from "node:http";
import { asksModel } from "../../replay/requests/api.ts";
import { type Incoming, listen, sendError } from "../../replay/requests/listen.ts";
import { BEFORE, setVariables, variablesBefore } from "../../testing/recording.ts";
import { type Env, placeholderKeys, variablesFor } from "./pointing.ts";

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

/** Opens it, once, and points this process at it. */
export function openDesk(): Promise<Desk> {
  return here[KEY] ??= opened();
}

async function opened(): Promise<Desk> {
  setVariables(variablesBefore());
  const env = { ...process.env };
  const { url } = await listen((incoming, response) => answer(desk, incoming, response), { unref: true });
  const desk: Desk = { url, env };
  const pointed = { ...variablesFor(url, env), ...placeholderKeys(env) };
  const both = Object.entries(pointed).map(([name, is]) => [name, { is, was: env[name] ?? null }]);
  setVariables({ ...pointed, [BEFORE]: JSON.stringify(Object.fromEntries(both)) });
  return desk;
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
