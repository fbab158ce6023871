import type { ServerResponse } from "node:http";
import { setImmediate as nextTick } from "node:timers/promises";
import { causesOf, type DriftReport, OFF_TAPE, priceOf, wholePrice } from "../../replay/drift/drift-report.ts";
import { frameOf } from "../../log/frames.ts";
import { asNamedHere, type Places } from "../../log/redact/places.ts";
import { mapTexts, placeholdersIn, type Redactor, redactor } from "../../log/redact/redact.ts";
import { inForm } from "../../log/recorded-reply.ts";
import type { Attempt, Sent, Tape } from "../../log/tape.ts";
import { asksModel, mapSent, modelCalls } from "../../replay/requests/api.ts";
import { type Incoming, sendError } from "../../replay/requests/listen.ts";
import { sentMasks } from "./mask.ts";
import { type MatchOptions, SentMatcher } from "../../replay/requests/match-request.ts";
import type { Doings } from "./doings.ts";
import { McpReplayer } from "./mcp-answers.ts";
import type { Env } from "./pointing.ts";
import { ComparedProgram } from "../../replay/requests/compared-program.ts";
import { RULES } from "../../replay/requests/compare-rules.ts";

export interface ReplayerOptions extends MatchOptions {
  /** How the report names the tape. */
  readonly name: string;
  readonly places: Places;
  /** Where the program is installed. */
  readonly folder?: string | undefined;
  /** The program's environment, for secrets that were taken out. @default that of this process */
  readonly env?: Env;
  /** Called when every recorded call was served. */
  readonly onUsedUp?: () => void;
}

/** Answers requests from a tape, and never from anywhere else. */
export class Replayer {
  readonly #tape: Tape;
  readonly #options: ReplayerOptions;
  readonly #program: ComparedProgram;
  readonly #masks: ReturnType<typeof sentMasks>;
  readonly #matcher: SentMatcher;
  readonly #mcp: McpReplayer;
  readonly #divergences = new Map<string, DriftReport["divergences"][number]>();
  readonly #tools = new Map<string, DriftReport["tools"][number]>();
  /** Lines that the report says as they are. */
  readonly notes = new Set<string>();
  /** Whether a model was asked anything. */
  wasAsked = false;

  constructor(tape: Tape, options: ReplayerOptions) {
    this.#tape = tape;
    this.#options = options;
    this.#program = new ComparedProgram(options.folder);
    const { env = process.env, places } = options;
    this.#masks = sentMasks(places, this.#program, secretsOf(tape, places, env));
    const named = asNamedHere(places);
    const calls = tape.calls.map((call) => call.sent ? { ...call, sent: mapSent(call.sent, named) } : call);
    const { loose = tape.header.loose } = options;
    this.#matcher = new SentMatcher({ ...tape, calls }, { ...options, ...(loose && { loose }) });
    this.#mcp = new McpReplayer(tape.mcp ?? [], {
      ...{ name: options.name, mask: this.#masks, named: (value) => mapTexts(value, named) },
      note: (line) => void this.notes.add(line),
    });
  }

  answer = async (incoming: Incoming, response: ServerResponse): Promise<void> => {
    if (incoming.prefix === "mcp") return await this.#mcp.answer(incoming, response);
    const { sent, headers } = incoming;
    if (asksModel(sent)) this.#mcp.requests++;
    const lane = this.#program.learn(headers, sent);
    const mask = this.#masks();
    const asked = mask.sentOn(sent);
    this.wasAsked ||= asksModel(asked);
    this.#noteClient(asked);
    const found = this.#divergences.has(lane) ? undefined : this.#matcher.find(asked);
    if (!found) return this.#refuse(asked, lane, response);
    const { path = "", ...change } = found.tool ?? {};
    if (found.tool && !this.#tools.has(path)) {
      this.#tools.set(path, { lane, tool: "a tool", id: found.call.id, path, ...change });
    }
    const more = found.attempt !== found.call.attempts.at(-1);
    await serveAttempt(mask.attemptOff(found.attempt), sent, response, more);
    if (this.#matcher.unused.length === 0) this.#options.onUsedUp?.();
  };

  #refuse(asked: Sent, lane: string, response: ServerResponse): void {
    if (!asksModel(asked)) return sendError(response, asked.api, 404, `${OFF_TAPE}${this.#options.name}: not recorded`);
    // The tape ends here, and so does the program in a moment.
    if (this.#options.onUsedUp && this.#matcher.unused.length === 0) return void response.destroy();
    const known = this.#divergences.get(lane);
    const divergence = known ?? this.#matcher.explain(asked, lane);
    this.#divergences.set(lane, divergence);
    sendError(response, asked.api, 400, `${OFF_TAPE}${this.#options.name}: ${divergence.words}`);
  }

  #noteClient({ headers }: Sent): void {
    const was = this.#tape.header.versions.client;
    const is = headers["user-agent"];
    if (was !== undefined && is !== undefined && is !== was && /^[^/]*/.exec(is)![0] === /^[^/]*/.exec(was)![0]) {
      this.notes.add(`the program is now ${is}, and was ${was} when this was recorded`);
    }
  }

  /** A text as the tape would have it. */
  on = (text: string): string => this.#masks().on(text);

  /** What the recorded program did, as this machine would write it. */
  get did(): Doings {
    return mapTexts(this.#tape.end ?? {}, asNamedHere(this.#options.places));
  }

  async report(renew: string): Promise<DriftReport> {
    const { header } = this.#tape;
    const mcp = this.#mcp.report;
    const isMcp = mcp !== undefined && mcp.differs.length > 0;
    const all = [...this.#divergences.values()];
    const divergences = isMcp ? causesOf(all, true) : all;
    const { unused, served, by } = this.#matcher;
    const stale = this.#matcher.stale.length;
    const rules = [...by].map((name) => `${name} (${RULES[name]!.about})`);
    return {
      tape: this.#options.name,
      ok: all.length === 0 && unused.length === 0 && !isMcp && !mcp?.unused.length,
      mode: "replay",
      source: header.source,
      divergences,
      tools: [...this.#tools.values()],
      files: [],
      unused: unused.map(({ id }) => id),
      ...(mcp && { mcp }),
      calls: { recorded: served + unused.length, served, live: 0 },
      ...(stale > 0 && { stale }),
      normalise: header.normalise ?? [],
      // A program is recorded from its start on.
      price: { update: priceOf(modelCalls(this.#tape), divergences), whole: wholePrice(this.#tape) },
      notes: [...this.notes, ...(rules.length > 0 ? [`not compared: ${rules.join(", ")}`] : [])],
      renew,
    };
  }
}

/** Finds the secrets that a tape has placeholders for; undefined if it has no placeholders. */
export function secretsOf({ calls, header: { seed }, end }: Tape, { root }: Places, env: Env): Redactor | undefined {
  const placeholders = placeholdersIn(JSON.stringify([end, ...calls.map(({ sent }) => sent)]));
  return placeholders.size > 0 ? redactor({ env, ...(root !== undefined && { root }), seed, placeholders }) : undefined;
}

/** Sends an attempt as it was recorded: one frame a write. `more` if another attempt follows, for which no wait is served. */
export async function serveAttempt(attempt: Attempt, sent: Sent, response: ServerResponse, more: boolean) {
  const { status, ended, headers, events, body = "" } = sent.api === "anthropic"
    ? await inForm(attempt, sent.body?.stream === true)
    : attempt;
  if (status === undefined && ended !== undefined) {
    if (ended === "reset" || ended === "cut") response.destroy();
    return; // else nothing was answered: the connection is held
  }
  response.writeHead(status ?? 200, { ...headers, ...(more && { "retry-after-ms": "1" }) });
  if (sent.method === "HEAD") return void response.end();
  for (const event of events ?? []) {
    if (response.destroyed) return;
    response.write(frameOf(event));
    await nextTick(); // lets the frame leave by itself
  }
  if (!events) response.write(body);
  if (ended === undefined) response.end();
  else if (ended === "cut" || ended === "reset") response.destroy();
}
