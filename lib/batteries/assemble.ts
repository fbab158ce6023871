import type { AgentOptions, AgentSession, RunOptions } from "../agent.ts";
import { anthropic, DEFAULT_MODEL, warm, wireOf } from "../anthropic.ts";
import { systemClock } from "../core/clock.ts";
import { engineOf } from "../core/engine.ts";
import type { HookRecord } from "../core/hook.ts";
import { type AgentSpec, type Life, newLife } from "../core/life.ts";
import { type Limits, limitsOf } from "../core/limits.ts";
import { NO_USAGE } from "../core/messages.ts";
import type { Model } from "../core/model.ts";
import type { RunEvent } from "../core/run-events.ts";
import { openSession } from "../core/session.ts";
import type { Tool } from "../core/tool.ts";
import { sessionEnvFile } from "../hooks/process/env-file.ts";
import { price } from "../prices.ts";
import { memoryStore } from "../transcript/memory.ts";
import { type About, hashOf, type TranscriptStore } from "../transcript/store.ts";
import { changesSince } from "../transcript/resume.ts";
import { askerOn } from "./asker.ts";
import { beginRun, notBegun } from "./begin.ts";
import { commandRules, hookExec, sessionSandbox } from "./command-rules.ts";
import { hookHost } from "./hook-host.ts";
import { hookList } from "./hook-list.ts";
import { isKept, type Keeper, keeper } from "./persist.ts";
import { type Past, pastFor } from "./past.ts";
import { runBelow, spawner } from "./spawn.ts";
import { closeTape, tapeFor } from "./tape.ts";
import { toolSet } from "./tool-set.ts";

/** An agent's options, checked. */
export interface Parts {
  readonly options: AgentOptions;
  readonly name: string;
  readonly tools: readonly Tool[];
  readonly limits: Limits;
  readonly cwd: string;
  readonly hookFolders: readonly string[];
  readonly codeHooks: readonly HookRecord[];
  readonly store: TranscriptStore;
  /** A path of an option, from where the agent is. */
  readonly resolve: (path: string) => string;
}

export type Assembled = AgentSession;

const NEVER = new AbortController().signal;

/** What a model may write in one reply. */
const MAX_TOKENS = 32_000;

/** Puts an agent's session together: model, rules, hooks, store, memory, and the loop that uses them. */
export async function assemble(parts: Parts, own: RunOptions): Promise<Assembled> {
  const { options, name } = parts;
  const cwd = own.cwd ?? parts.cwd;
  const tape = await tapeFor(options.tape, own.tape, cwd, parts.resolve, options.from);
  const lane = tape?.lane("main");
  const clock = lane?.clock ?? systemClock;
  const { model, modelName, priced } = modelOf(own.model ?? options.model ?? tape?.model, tape?.isOffline);
  const limits = own.limits ? limitsOf({ ...options.limits, ...own.limits }) : parts.limits;
  if (limits.dollars !== undefined && priced && price(modelName, NO_USAGE) === undefined) {
    throw new TypeError(
      `Cannot keep limits.dollars as the price of model '${modelName}' is unknown: use limits.tokens`,
    );
  }
  // A replay has the ids of its recording: kept, it would write into the transcript of the one before.
  const store = tape?.isOffline && own.resume === undefined ? memoryStore() : own.store ?? parts.store;
  const engine = engineOf(own.step ?? options.step);
  const past = await pastFor(store, own);
  const id = past?.id ?? own.id ?? clock.uuid();
  const release = await store.lock?.(id);
  const memory = own.memory ?? options.memory ?? false;
  const { system, afterWrite } = await withMemory(options.system ?? "", cwd, memory);
  const ask = engine ? askerOn(engine, own.ask, (event) => emit(event)) : own.ask;
  const gate = await gateOf(own.permissions ?? options.permissions, ask, cwd);
  const log = typeof own.rollout === "function" ? own.rollout(id) : own.rollout;
  const rollout = log &&
    (await import("../transcript/rollout.ts")).rolloutWriter(
      log,
      id,
      tape ? () => tape.epoch + lane!.clock.elapsed() : Date.now,
    );
  const compactor = memory === false ? undefined : await import("./compact.ts");
  const spans = openTelemetry()?.trace
    ? await (await import("../telemetry.ts")).tracing({
      provider: priced || wireOf(model) ? "anthropic" : "custom",
      maxTokens: MAX_TOKENS,
    })
    : undefined;
  let contextTokens = 0;
  let promptId: string | undefined;
  let begun = false;
  let lastStop: string | undefined;

  const emit = (event: RunEvent) => {
    if (event.agent_id === id) {
      keep.note(event);
      if (event.type === "usage") {
        const { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens } = event.usage;
        contextTokens = input_tokens + output_tokens + cache_creation_input_tokens + cache_read_input_tokens;
      }
    }
    if (rollout) rollout.write(event);
    spans?.note(event);
    options.on?.(event);
    own.on?.(event);
  };
  const isWatched = own.on !== undefined || options.on !== undefined;
  const toolState = new Map<string, unknown>([["crochet.roots", [cwd]]]);
  const envFile = sessionEnvFile(toolState);
  const sandbox = sessionSandbox(own.sandbox ?? options.sandbox, cwd);
  if (own.asker) toolState.set("crochet.asker", own.asker);
  if (gate) toolState.set("crochet.plan-mode", gate.plan).set("crochet.hides", gate.hides);
  if (sandbox.turn) toolState.set("sandbox", { mode: "workspace", roots: [cwd] });
  const life: Life = newLife({
    id,
    model: past?.model !== undefined && own.model === undefined ? past.model : modelName,
    clock,
    ...(lane && { inbox: lane.inbox }),
    cwd: () => (toolState.get("cwd") as (() => string) | undefined)?.() ?? cwd,
    emit,
    ...(!isWatched && !rollout && !spans && { hears: isKept }),
    toolState,
    messages: past?.messages ?? [],
    runs: past && !past.forked ? past.transcript.endings.length : 0,
    save: (...given) => keep.save(...given),
    spawn: (...given) => spawner(spec, () => life, store)(...given),
  });
  const about = {
    agent_type: name,
    model: life.model,
    system: hashOf(system),
    tools: [] as string[],
    prompt: "",
    cwd,
    created: new Date(clock.now()).toISOString(),
  };
  const stored = past?.forked ? undefined : past?.transcript;
  const keep = keeper(store, id, stored ? undefined : about, () => life, stored);
  const warn = (message: string) => emit({ agent_id: id, type: "warning", message });
  const set = await toolSet({
    own: parts.tools,
    mcp: [options.mcp, own.mcp],
    tape,
    cwd,
    signals: [own.signal, options.signal],
    warn,
  });
  about.tools = set.tools.map((tool) => tool.name);
  const definition: AgentSpec = {
    type: name,
    model,
    system,
    get tools() {
      return set.tools;
    },
    limits,
    maxTokens: MAX_TOKENS,
    hooks: hookList({
      inCode: parts.codeHooks,
      folders: parts.hookFolders,
      found: own.hooks,
      runner: {
        host: hookHost({
          ...{ id, cwd, store, set, gate, toolState },
          promptId: () => promptId,
          envFile: envFile.path,
          confine: sandbox.hooks,
          emit: isWatched ? emit : undefined,
        }),
        prompt: { model: priced && !process.env.ANTHROPIC_API_KEY && !tape?.isOffline ? undefined : model },
        warn,
        emit: (event) => emit({ agent_id: id, ...event }),
        ...commandRules(gate, sandbox.turn, cwd),
      },
    }),
    ...(engine && { engine }),
    ...(spans && { step: spans.step((_, work) => work()) }),
    price: (model, usage) => price(model, usage) ?? (priced ? undefined : 0),
    exec: hookExec(sandbox.hooks),
    ...(gate && { permit: gate.permit, ...(gate.askPerson && { askPerson: gate.askPerson }) }),
    ...(options.fallbackModel !== undefined && { fallback: options.fallbackModel }),
    ...(afterWrite && { afterWrite }),
    ...(compactor && {
      compact: async (run) => {
        const room = run.count.iterations + 1 < limits.iterations; // it is a model call like any other
        if (room && contextTokens > compactor.COMPACT_AT && await compactor.compact(run, "auto")) contextTokens = 0;
      },
    }),
  };
  const spec = lane ? lane.spec(definition) : definition;
  if (tape) tape.isWatched = isWatched;
  const session = openSession(spec, life, { source: past ? (past.forked ? "fork" : "resume") : "startup" });
  let wentOn = false;
  const goingOn = async () => {
    if (past && !wentOn) await goOn(past, about, life, keep);
    wentOn = true;
  };
  return {
    id,
    get model() {
      return life.model;
    },
    async prompt(words, { signal } = {}) {
      promptId = clock.uuid();
      tape?.recording.prompts.push(words);
      let trigger: "user" | "resume" = past ? "resume" : "user";
      if (engine) {
        const begin = await beginRun(engine, { prompt: words, trigger, life, keep, stored }).catch((error) => {
          if (engine.failure) return undefined;
          throw error;
        });
        if (!begin) return notBegun(life, engine.failure!.error);
        ({ prompt: words, trigger } = begin);
        wentOn ||= begin.again;
      }
      await goingOn();
      if (!begun) Object.assign(about, { prompt: words.slice(0, 200), model: life.model });
      begun = true;
      const signals = [options.signal, own.signal, signal].filter((s) => s !== undefined);
      const result = await session.prompt(words, {
        trigger,
        ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
      });
      lastStop = result.stop;
      // It has not ended: whoever has its engine in order again goes on with it.
      if (engine?.failure) return result;
      try {
        await keep.ended(result);
      } catch (error) {
        return { ...result, stop: "error", error: { type: "store", message: (error as Error).message } };
      }
      return result;
    },
    setModel: (name) => session.setModel(name),
    below: (asked) => runBelow({ agent: spec, life, store, signal: own.signal ?? options.signal ?? NEVER }, asked),
    hooks: async () => await spec.hooks(),
    permissions: () => gate?.permissions(),
    checkpoint: async () => {
      await goingOn();
      return await keep.checkpoint(await session.between(), "manual");
    },
    compact: async ({ signal } = {}) => {
      await goingOn();
      return await (await import("./compact.ts")).compact(await session.between(signal), "manual");
    },
    async close(reason) {
      await session.close(reason);
      if (toolState.has("shell")) await (await import("../tools/bash.ts")).closeShell(toolState);
      await set.close();
      envFile.remove();
      if (tape) await closeTape(tape, lastStop, warn);
      if (rollout) rollout.close();
      await release?.();
    },
  };
}

/** What an application has registered to collect spans with: without, nothing of OpenTelemetry is loaded. */
function openTelemetry(): { trace?: unknown } | undefined {
  return (globalThis as { [key: symbol]: { trace?: unknown } })[Symbol.for("opentelemetry.js.api.1")];
}

/** Says what a session that goes on finds changed, and writes what it has beyond the stored transcript. */
async function goOn(past: Past, now: About, life: Life, keep: Keeper): Promise<void> {
  for (const change of changesSince(past.transcript, now)) {
    life.emit({ agent_id: life.agentId, type: "warning", message: `Session ${past.from}: ${change}` });
  }
  const stored = past.forked ? 0 : past.transcript.messages.length;
  for (let index = stored; index < life.messages.length; index++) await keep.copy(life.messages[index]!, index);
}

function modelOf(
  given: string | Model | undefined,
  offline = false,
): { model: Model; modelName: string; priced: boolean } {
  if (typeof given === "function") return { model: given, modelName: given.name || "custom", priced: false };
  const modelName = given ?? (process.env.CROCHET_MODEL || DEFAULT_MODEL);
  if (typeof modelName !== "string" || modelName === "") {
    throw new TypeError(`Cannot use ${JSON.stringify(given)} as a model: give a model's name or a Model function`);
  }
  if (!offline) warm();
  return { model: shared ??= anthropic(), modelName, priced: true };
}

/** One client for all agents of the process: it holds nothing of a conversation but its bytes. */
let shared: Model | undefined;

async function withMemory(
  system: string,
  cwd: string,
  memory: boolean | readonly string[],
): Promise<{ system: string; afterWrite?: AgentSpec["afterWrite"] }> {
  if (memory === false) return { system };
  const { findMemory, memoryPrompt, memoryWatch, MEMORY_FILES } = await import("./memory.ts");
  const names = memory === true ? MEMORY_FILES : memory;
  const found = memoryPrompt(await findMemory(cwd, names), cwd);
  return { system: [system, found].filter((part) => part !== "").join("\n\n"), afterWrite: memoryWatch(cwd, names) };
}

let gates: typeof import("../permissions/gate.ts") | undefined;

async function gateOf(permissions: RunOptions["permissions"], ask: RunOptions["ask"], cwd: string) {
  if (!permissions && !ask) return undefined;
  gates ??= await import("../permissions/gate.ts");
  return gates.permissionGate({ roots: [cwd], mode: "bypassPermissions", ...permissions }, ask ? { ask } : {});
}
