import { crochetVersion, runtimeVersion } from "../../runtime/version.ts";
import { type Header, type McpFact, TAPE_VERSION } from "../../log/entry.ts";
import type { Places } from "../../log/redact/places.ts";
import type { Redactor } from "../../log/redact/redact.ts";
import type { Attempt, Call, Sent, Tape } from "../../log/tape.ts";
import { asksModel, wireOf } from "../../replay/requests/api.ts";
import { sentMasks } from "./mask.ts";
import { sentKey } from "../../replay/requests/match-request.ts";
import { ComparedProgram } from "../../replay/requests/compared-program.ts";
import type { Doings } from "./doings.ts";
import { readable } from "../../replay/requests/readable.ts";

/** One request and its answer, as they went over the wire. */
export interface Exchange {
  readonly sent: Sent;
  /** All its headers, to learn ids and secrets from: none of them is written. */
  readonly headers: { readonly [name: string]: string | undefined };
  /** Milliseconds since the recording began. */
  readonly at: number;
  attempt: Attempt;
}

export interface RecordedRun {
  readonly exchanges: readonly Exchange[];
  /** What it asked its MCP servers. */
  readonly mcp?: readonly McpFact[];
  readonly places: Places;
  /** Where the program is installed. */
  readonly folder?: string | undefined;
  readonly redactor?: Redactor | undefined;
  readonly header: Pick<Header, "source" | "at" | "seed"> & Partial<Header>;
  /** How the command ended. */
  readonly end: string;
  /** What it did, as a tape has it. */
  readonly did?: ((on: (text: string) => string) => Doings) | undefined;
}

/** A tape of what a program asked: attempts at the same request after a failure are one call. */
export function tapeOfRun({ exchanges, mcp = [], places, folder, redactor, header, end, did }: RecordedRun): Tape {
  const program = new ComparedProgram(folder);
  const masks = sentMasks(places, program, redactor);
  const counts = new Map<string, number>();
  const calls: (Call & { attempts: Attempt[] })[] = [];
  const last = new Map<string, Call & { attempts: Attempt[] }>();
  for (const { sent: given, headers, at, attempt: raw } of exchanges) {
    const lane = asksModel(given) ? program.learn(headers, given) : OTHER;
    const mask = masks();
    const sent = mask.sentOn(given);
    const key = `${sentKey(sent)} ${JSON.stringify(wireOf(sent))}`;
    const attempt = mask.attemptOn({ ...raw, ...(sent.api !== "anthropic" && { api: sent.api }) });
    const before = last.get(key);
    if (before && hasFailed(before.attempts.at(-1)!)) {
      const waited = at - before.at - before.attempts.reduce((sum, one) => sum + one.took + (one.waited ?? 0), 0);
      before.attempts.push({ ...attempt, ...(waited > 0 && { waited }) });
      continue;
    }
    const number = (counts.get(lane) ?? 0) + 1;
    counts.set(lane, number);
    const call = { id: `${lane}#${number}`, lane, request: readable(sent), sent, attempts: [attempt], at };
    calls.push(call);
    last.set(key, call);
  }
  const agent = exchanges.map(({ sent }) => sent.headers["user-agent"]).find((name) => name !== undefined);
  const versions = {
    crochet: crochetVersion(),
    ...(agent !== undefined && { client: masks().on(agent) }),
    runtime: runtimeVersion(),
  };
  // Where the program is installed, only its command says.
  const command = header.command && sentMasks(places, new ComparedProgram(), redactor)().on(header.command);
  return {
    header: { tape: TAPE_VERSION, versions, tools: false, ...masks().on(header), ...(command && { command }) },
    prompts: [],
    calls,
    tools: [],
    clocks: [],
    ...(mcp.length > 0 && { mcp: masks().on(mcp).toSorted((a, b) => a.mcp < b.mcp ? -1 : a.mcp > b.mcp ? 1 : 0) }),
    end: { end, ...did?.(masks().on) },
  };
}

/** The lane of requests that no model answers. */
const OTHER = "other";

export function hasFailed({ status = 0, ended }: Attempt): boolean {
  return status >= 400 || ended !== undefined;
}
