import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { apiOf } from "../../../lib/replay/requests/api.ts";
import { sentMasks } from "../../../lib/extensions/tape/mask.ts";
import { ComparedProgram, keptHeaders } from "../../../lib/replay/requests/compared-program.ts";
import { type Exchange, tapeOfRun } from "../../../lib/extensions/tape/tape-of-run.ts";
import type { Sent, Tape } from "../../../lib/log/tape.ts";
import { recordings } from "../../_data.ts";

/** Recorded requests of real programs, in pairs; undefined where they are not there. */
const REQUESTS: string | undefined = recordings("requests");

/** One recorded run, and what is to come of it against another. */
export interface Recorded {
  readonly client: string;
  readonly scenario: string;
  readonly variant: string;
  readonly root: string;
  readonly home: string;
  readonly tmp: string;
  readonly modelCalls: number;
  readonly against?: string;
  readonly expect?: "same" | "drift";
  readonly matched?: number;
  readonly first?: { readonly call: number; readonly paths: readonly string[] };
}

export function recordedRuns(): readonly Recorded[] {
  return JSON.parse(readFileSync(join(REQUESTS!, "index.json"), "utf8"));
}

const PREFIX: { readonly [client: string]: string } = { codex: "openai", gemini: "gemini" };

/** What a program sent in a run. */
function exchangesOf(
  { client, scenario, variant }: Pick<Recorded, "client" | "scenario" | "variant">,
): Exchange[] {
  const file = join(REQUESTS!, client, scenario, `${variant}.jsonl.gz`);
  const lines = gunzipSync(readFileSync(file)).toString().trim().split("\n").map((line) => JSON.parse(line));
  return lines.filter(({ method }) => method !== "UPGRADE").map(
    ({ method, url, headers, body, status, answer, at, until }) => {
      const path = url.replace(/\?.*/, "").replace(/^\/messages$/, "/v1/messages");
      const api = apiOf(PREFIX[client] ?? "anthropic", path);
      const query = /\?(.*)/.exec(url)?.[1] ?? "";
      const sent: Sent = { api, method, path, query, headers: keptHeaders(headers), ...(body && { body }) };
      return { sent, headers, at, attempt: { status, body: answer ?? "", took: until - at } };
    },
  );
}

const tapes = new Map<string, Tape>();

export function tapeOfRecorded(run: Recorded): Tape {
  const { root, home, tmp, client, scenario, variant } = run;
  const name = `${client} ${scenario} ${variant}`;
  const known = tapes.get(name);
  if (known) return known;
  const header = { source: "scripted server", at: new Date(0).toISOString(), seed: "pairs" };
  const tape = tapeOfRun({ exchanges: exchangesOf(run), places: { root, home, tmp }, header, end: "exit 0" });
  tapes.set(name, tape);
  return tape;
}

/** The requests of a run as a tape would have them, with what is known when each of them comes. */
export function* asked(run: Recorded): Generator<{ sent: Sent; lane: string }> {
  const { root, home, tmp } = run;
  const program = new ComparedProgram();
  const masks = sentMasks({ root, home, tmp }, program, undefined);
  for (const { sent, headers } of exchangesOf(run)) {
    const lane = program.learn(headers, sent);
    yield { sent: masks().sentOn(sent), lane };
  }
}
