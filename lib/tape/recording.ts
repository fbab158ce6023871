import type { Message } from "../core/messages.ts";
import { runtimeVersion, sourceOf, versionOf } from "./_about.ts";
import { type ClockFact, type Header, type InboxFact, TAPE_VERSION, type ToolFact } from "./format.ts";
import type { Mask } from "./mask.ts";
import type { TapeOptions } from "./options.ts";
import { finishedCalls, type LiveCall, type WireFacts } from "./record.ts";
import type { SecretKind } from "./_secrets.ts";
import type { Call, Tape, TapeRequest } from "./tape.ts";

/** What a session notes of a run while it happens, and the tape that comes of it. Nothing is masked before the end. */
export class Recording {
  readonly calls: LiveCall[] = [];
  readonly tools: ToolFact[] = [];
  readonly prompts: string[] = [];
  readonly inboxes: InboxFact[] = [];
  readonly #learn: (kind: SecretKind, name: string, value: string) => void;
  readonly #seen: { url?: string; source?: string; sdk?: string; api?: string } = {};

  /** `learn` is told what went over the wire in headers and must not be shown anywhere else. */
  constructor(learn: (kind: SecretKind, name: string, value: string) => void) {
    this.#learn = learn;
  }

  readonly wireFacts: WireFacts = {
    url: (url) => {
      this.#seen.url ??= new URL(url).origin;
    },
    requestHeaders: (headers) => {
      this.#seen.sdk ??= headers.get("x-stainless-package-version") ?? "unknown";
      this.#seen.api ??= headers.get("anthropic-version") ?? "unknown";
      const key = headers.get("x-api-key") ?? headers.get("authorization")?.replace(/^Bearer /, "");
      if (key) this.#learn("key", "api-key", key);
    },
    responseHeaders: (headers) => {
      this.#seen.source ??= sourceOf(this.#seen.url, headers.get("request-id"));
      for (const name of ["anthropic-organization-id", "anthropic-workspace-id"]) {
        const id = headers.get(name);
        if (id) this.#learn("organisation", name, id);
      }
      for (const cookie of headers.getSetCookie()) {
        const value = /^[^=]*=([^;]+)/.exec(cookie)?.[1];
        if (value) this.#learn("cookie", "set-cookie", value);
      }
    },
  };

  header(seed: string, epoch: number, { agent, tools = false, normalise = [], source }: TapeOptions): Header {
    const { url, sdk, api } = this.#seen;
    return {
      tape: TAPE_VERSION,
      source: source ?? this.#seen.source ?? "model",
      ...(url !== undefined && { url }),
      at: new Date(epoch).toISOString(),
      seed,
      versions: {
        crochet: versionOf(),
        ...(sdk !== undefined && { sdk }),
        ...(api !== undefined && { api }),
        runtime: runtimeVersion(),
      },
      ...(agent !== undefined && { agent }),
      tools,
      ...(normalise.length > 0 && { normalise }),
    };
  }

  /**
   * Why nothing is written, for a sentence that begins with "Cannot record as": the model was never asked, somebody
   * ended the run, or a failure would take the place of a run that went well.
   */
  refusal(stop: string | undefined, was: Tape | undefined): string | undefined {
    const unsent = this.calls.find(({ attempts, error }) => attempts.length === 0 && error);
    if (stop === "aborted") return "the run was interrupted: let it come to its end";
    if (unsent) return `the model could not be asked: ${unsent.error!.message}`;
    if (stop !== "error" || was === undefined || was.end?.end === "error") return undefined;
    const { error } = this.calls.findLast((call) => call.error) ?? {};
    return `the run ended with an error, and the tape is left as it was: ${error?.message ?? "try again"}`;
  }

  /** The tape: what was kept of an old one, and what was recorded after it. */
  tape(header: Header, mask: Mask, was: { calls: readonly Call[]; tools: readonly ToolFact[] }, more: End): Tape {
    const known = new WeakMap<Message, Message>();
    const message = (given: Message): Message => {
      const masked = known.get(given) ?? mask.on(given);
      known.set(given, masked);
      return masked;
    };
    const request = ({ messages, ...head }: TapeRequest): TapeRequest => ({
      ...mask.on(head),
      messages: messages.map(message),
    });
    const calls = finishedCalls(this.calls, {
      request,
      attempt: (attempt) => mask.attemptOn(attempt),
      text: (text) => mask.on(text),
    }, was.calls);
    const isFresh = (old: ToolFact) => !this.tools.some(({ lane, tool }) => lane === old.lane && tool === old.tool);
    const { clocks, stop, files } = more;
    return {
      header,
      prompts: mask.on(this.prompts),
      calls,
      tools: [...was.tools.filter(isFresh), ...this.tools],
      clocks,
      inboxes: this.inboxes,
      ...(stop !== undefined && { end: { end: stop, ...(files && { files: mask.on(files) }) } }),
    };
  }
}

interface End {
  readonly clocks: readonly ClockFact[];
  readonly stop: string | undefined;
  readonly files: { readonly [path: string]: string } | undefined;
}
