import { AsyncLocalStorage } from "node:async_hooks";
import type { Attributes, Context, Histogram, Span, Tracer } from "@opentelemetry/api";
import { ModelError, type Reply } from "../core/model.ts";
import { addUsage, NO_USAGE, type Usage } from "../core/messages.ts";
import type { RunEvent } from "../core/run-events.ts";
import type { Interceptor } from "../core/run.ts";
import type { ToolEnd } from "../core/tool.ts";

type Api = Pick<typeof import("@opentelemetry/api"), "context" | "metrics" | "SpanKind" | "SpanStatusCode" | "trace">;

export interface Traced {
  readonly provider: string;
  readonly maxTokens: number;
}

/**
 * The spans of one session, in the names of the GenAI conventions: made from the events of its runs, and from the steps
 * they take. Texts are left out unless OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is true.
 */
export async function tracing(traced: Traced): Promise<Tracing | undefined> {
  try {
    return new Tracing(await import("@opentelemetry/api"), traced);
  } catch {
    return undefined; // a run never fails because spans cannot be made
  }
}

/** One agent that runs: spans that are open. */
interface Lane {
  readonly run: Span;
  model: string;
  readonly session: string;
  readonly isBelow: boolean;
  usage: Usage;
  iteration: { readonly span: Span; hasCalled: boolean } | undefined;
  iterations: number;
  readonly hooks: Map<string, Span[]>;
  /** Calls whose tool ran. */
  readonly ran: Set<string>;
  /** The span of the model call that is made. */
  chat: Span | undefined;
}

/** The tool call that what happens now belongs to; agents below begin in it. */
const within = new AsyncLocalStorage<Span>();

/** Whether texts go along, by the variable that other instrumentations read. */
const capturesContent = () => process.env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT === "true";

class Tracing {
  readonly #api: Api;
  readonly #traced: Traced;
  readonly #tracer: Tracer;
  readonly #tokens: Histogram;
  readonly #seconds: Histogram;
  readonly #lanes = new Map<string, Lane>();

  constructor(api: Api, traced: Traced) {
    this.#api = api;
    this.#traced = traced;
    this.#tracer = api.trace.getTracer("crochet");
    const meter = api.metrics.getMeter("crochet");
    this.#tokens = meter.createHistogram("gen_ai.client.token.usage", { unit: "{token}", advice: TOKEN_BUCKETS });
    this.#seconds = meter.createHistogram("gen_ai.client.operation.duration", { unit: "s", advice: SECOND_BUCKETS });
  }

  note(event: RunEvent): void {
    if (event.type === "start") return this.#begin(event);
    const lane = this.#lanes.get(event.agent_id);
    if (!lane) return;
    switch (event.type) {
      case "hook_start":
        if (event.event === "iteration" && lane.iteration?.hasCalled !== false) this.#iterate(lane);
        return this.#hookBegins(lane, event);
      case "hook_end":
        return this.#hookEnds(lane, event);
      case "usage":
        lane.usage = addUsage(lane.usage, event.usage);
        return;
      case "model":
        lane.model = event.model;
        return;
      case "retry":
        return void lane.chat?.addEvent("retry", {
          "crochet.attempt": event.attempt,
          "crochet.reason": event.reason,
        });
      case "tool_end":
        return this.#answered(lane, event);
      case "end":
        return this.#end(event, lane);
    }
  }

  /** Runs each model call and tool call in a span, so that what they do is below it. */
  readonly around: Interceptor = {
    model: ({ agent_id }, _, next) => {
      const lane = this.#lanes.get(agent_id);
      return lane ? this.#chat(lane, async (onFirst) => await next(onFirst)) : next();
    },
    tool: ({ agent_id }, { call, tool }, next) => {
      const lane = this.#lanes.get(agent_id);
      return lane ? this.#tool(lane, tool.name, call.id, () => next()) : next();
    },
  };

  #begin({ agent_id, agent_type, session_id, model, prompt }: Extract<RunEvent, { type: "start" }>): void {
    const run = this.#span(`invoke_agent ${agent_type}`, within.getStore(), {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": agent_type,
      "gen_ai.request.model": model,
      "gen_ai.conversation.id": session_id,
      ...(capturesContent() && { "gen_ai.input.messages": messages("user", prompt) }),
    });
    const fresh = { iteration: undefined, iterations: 0, hooks: new Map(), ran: new Set<string>(), chat: undefined };
    this.#lanes.set(agent_id, {
      run,
      model,
      session: session_id,
      isBelow: agent_id !== session_id,
      usage: NO_USAGE,
      ...fresh,
    });
  }

  #end({ agent_id, stop, text }: Extract<RunEvent, { type: "end" }>, lane: Lane): void {
    lane.iteration?.span.end();
    lane.run.setAttributes({
      "crochet.stop": stop,
      ...usageOf(lane.usage),
      ...(capturesContent() && { "gen_ai.output.messages": messages("assistant", text) }),
    });
    if (stop === "error" || stop === "aborted") this.#failed(lane.run, stop);
    lane.run.end();
    lane.iteration = undefined;
    // The hooks of a session's end come after its last run, and belong to it.
    if (lane.isBelow) this.#lanes.delete(agent_id);
  }

  #iterate(lane: Lane): Span {
    lane.iteration?.span.end();
    const span = this.#span("iteration", lane.run, { "crochet.iteration": ++lane.iterations });
    lane.iteration = { span, hasCalled: false };
    return span;
  }

  async #chat(lane: Lane, work: (onFirst: () => void) => Promise<Reply>): Promise<Reply> {
    if (lane.iteration?.hasCalled !== false) this.#iterate(lane);
    lane.iteration!.hasCalled = true;
    const { SpanKind } = this.#api;
    const about = {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": this.#traced.provider,
      "gen_ai.request.model": lane.model,
    };
    const span = this.#span(`chat ${lane.model}`, lane.iteration!.span, {
      ...about,
      "gen_ai.conversation.id": lane.session,
      "gen_ai.request.max_tokens": this.#traced.maxTokens,
      "gen_ai.request.stream": true,
      "gen_ai.output.type": "text",
    }, SpanKind.CLIENT);
    lane.chat = span;
    const began = performance.now();
    // Not with the first words, which the run reports: a reply may be a call alone.
    const onFirst = () => span.setAttribute("gen_ai.response.time_to_first_chunk", secondsSince(began));
    let ended: Attributes = about;
    return await this.#during(span, () => work(onFirst), ({ id, usage, stop_reason, model, reasoning }) => {
      if (model) ended = { ...about, "gen_ai.response.model": model };
      const used = usageOf(usage);
      span.setAttributes({
        ...ended,
        ...used,
        ...(reasoning !== undefined && { "gen_ai.usage.reasoning.output_tokens": reasoning }),
        ...(stop_reason && { "gen_ai.response.finish_reasons": [stop_reason] }),
        ...(id && { "gen_ai.response.id": id }),
      });
      for (const type of ["input", "output"]) {
        this.#tokens.record(Number(used[`gen_ai.usage.${type}_tokens`]), { ...ended, "gen_ai.token.type": type });
      }
    }).catch((error) => {
      ended = { ...about, "error.type": typeOf(error) };
      throw error;
    }).finally(() => {
      this.#seconds.record(secondsSince(began), ended);
      lane.chat = undefined;
    });
  }

  async #tool(lane: Lane, name: string, id: string, work: () => Promise<ToolEnd>): Promise<ToolEnd> {
    lane.ran.add(id);
    const span = this.#toolSpan(lane, name, id);
    return await this.#during(span, () => within.run(span, work), ({ isError }) => {
      if (isError) this.#failed(span, "tool_error");
    });
  }

  /** A call that never ran has a span too, with the reason. */
  #answered(lane: Lane, { id, name, outcome }: Extract<RunEvent, { type: "tool_end" }>): void {
    if (lane.ran.delete(id)) return;
    const span = this.#toolSpan(lane, name, id);
    this.#failed(span, outcome);
    span.end();
  }

  #toolSpan(lane: Lane, name: string, id: string): Span {
    return this.#span(`execute_tool ${name}`, lane.iteration?.span ?? lane.run, {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": name,
      "gen_ai.tool.call.id": id,
      "gen_ai.tool.type": name.startsWith("mcp__") ? "extension" : "function",
    });
  }

  #hookBegins(lane: Lane, { hook, event }: Extract<RunEvent, { type: "hook_start" }>): void {
    const span = this.#span(`hook ${hook}`, lane.iteration?.span ?? lane.run, {
      "crochet.hook.name": hook,
      "crochet.hook.event": event,
    });
    const key = `${event} ${hook}`;
    lane.hooks.set(key, [...lane.hooks.get(key) ?? [], span]);
  }

  #hookEnds(lane: Lane, { hook, event, decision, failure }: Extract<RunEvent, { type: "hook_end" }>): void {
    const span = lane.hooks.get(`${event} ${hook}`)?.shift();
    if (!span) return;
    span.setAttribute("crochet.hook.decision", decision);
    if (failure !== undefined) this.#failed(span, "hook_failed");
    span.end();
  }

  #span(name: string, parent: Span | undefined, attributes: Attributes, kind?: number): Span {
    const context = this.#below(parent);
    return this.#tracer.startSpan(name, { attributes, ...(kind !== undefined && { kind }) }, context);
  }

  #below(parent: Span | undefined): Context {
    const { context, trace } = this.#api;
    return parent ? trace.setSpan(context.active(), parent) : context.active();
  }

  /** Does work in a span, which ends with it, once what came of it is noted. */
  async #during<T>(span: Span, work: () => Promise<T>, note: (value: T) => void): Promise<T> {
    try {
      const value = await this.#api.context.with(this.#below(span), work);
      note(value);
      return value;
    } catch (error) {
      this.#failed(span, typeOf(error), error);
      throw error;
    } finally {
      span.end();
    }
  }

  #failed(span: Span, type: string, error?: unknown): void {
    span.setAttribute("error.type", type);
    const message = capturesContent() && error instanceof Error ? error.message : undefined;
    span.setStatus({ code: this.#api.SpanStatusCode.ERROR, ...(message !== undefined && { message }) });
  }
}

export type { Tracing };

function typeOf(error: unknown): string {
  return error instanceof ModelError ? error.code : (error as Error)?.name ?? "_OTHER";
}

const secondsSince = (began: number) => (performance.now() - began) / 1000;

/** The buckets that the conventions ask for: powers of four of tokens, of two of hundredths of a second. */
const TOKEN_BUCKETS = { explicitBucketBoundaries: Array.from({ length: 14 }, (_, i) => 4 ** i) };
const SECOND_BUCKETS = { explicitBucketBoundaries: Array.from({ length: 14 }, (_, i) => 2 ** i / 100) };

/** What was read from a cache or written to it is input as well. */
function usageOf(usage: Usage): Attributes {
  const { input_tokens, output_tokens, cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage;
  return {
    "gen_ai.usage.input_tokens": input_tokens + read + written,
    "gen_ai.usage.output_tokens": output_tokens,
    "gen_ai.usage.cache_read.input_tokens": read,
    "gen_ai.usage.cache_write.input_tokens": written,
  };
}

function messages(role: string, content: string): string {
  return JSON.stringify([{ role, parts: [{ type: "text", content }] }]);
}
