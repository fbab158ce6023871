import type { AgentOptions, AgentSession, RunOptions } from "./options.ts";
import { systemClock } from "../core/clock.ts";
import { engineOf } from "./engine.ts";
import type { SessionLog } from "./log.ts";
import type { HookList } from "../core/hook.ts";
import { type AgentSpec, newSessionState, type SessionState } from "../core/run.ts";
import type { Limits } from "../core/limits.ts";
import { limitsOf, limitWarning } from "./limits.ts";
import { NO_USAGE, type Prompt } from "../core/messages.ts";
import type { ApiTool } from "../core/model.ts";
import { compactorFor } from "./compact.ts";
import type { Output } from "./output.ts";
import { type AskOptions, asksOf, paramsOf } from "./params.ts";
import type { RunEvent } from "../core/run-events.ts";
import { openSession } from "./session.ts";
import { ROOTS, type Tool } from "../core/tool.ts";
import {
  ASKER,
  HAD_SHELL,
  HAS_READ,
  HIDES,
  PLAN_MODE,
  PROJECT,
  SANDBOX,
  SHELL,
  shellCwd,
} from "../tools/tool-state.ts";
import { price, type Prices } from "../anthropic/prices.ts";
import { permitter } from "../permissions/permit.ts";
import type { Tracing } from "../telemetry/telemetry.ts";
import type { TapeLane } from "../tape/lane.ts";
import type { TapeSession } from "../tape/session.ts";
import { claiming, memoryStore, type SessionStore, sessionStore } from "../transcript/memory.ts";
import { hashOf } from "../transcript/store.ts";
import { agentSession } from "./agent-session.ts";
import { commandRules, hookExec, sessionSandbox } from "./command-rules.ts";
import { hookHost, sessionEnvFile } from "./hook-host.ts";
import { hookFolders, hookList, withNameWarnings } from "./hook-list.ts";
import { apiOf, isReachable, modelOf } from "./named-model.ts";
import { isKept, keeper } from "./persist.ts";
import { type Past, pastFor } from "./past.ts";
import { boxesOf, hadShell, spawning } from "./spawn.ts";
import { recovery } from "./recovery.ts";
import { systemOf } from "./system-prompt.ts";
import { askerFor, choicesOf, closeTape, decidedBy, isOfEnvironment, notedHooks, tapeFor } from "./tape.ts";
import { toolSet } from "./tool-set.ts";

/** An agent's options, checked. */
export interface AgentParts {
  readonly options: AgentOptions;
  readonly name: string;
  readonly tools: readonly Tool[];
  readonly apiTools: readonly ApiTool[];
  readonly output?: Output;
  readonly limits: Limits;
  readonly cwd: string;
  readonly hookFolders: readonly string[];
  /** The script, if the hooks beside it load by themselves; absent if the agent names its own. */
  readonly script: string | undefined;
  readonly codeHooks: HookList;
  readonly store: SessionStore;
  /** Resolves a path of an option against the agent's script. */
  readonly resolve: (path: string) => string;
}

/** Puts an agent's session together: model, rules, hooks, store, memory, and the loop that uses them. */
export async function assemble(parts: AgentParts, own: RunOptions, prompt?: Prompt): Promise<AgentSession> {
  const basis = await basisOf(parts, own, prompt);
  try {
    await basis.store.lock(basis.id);
    // Read only once it is claimed: a run that just ended may have written to it.
    return await sessionOn(basis, await pastFor(basis.store, own));
  } catch (error) {
    await basis.store.releaseAll();
    await basis.logged?.close();
    throw error;
  }
}

type SessionBasis = Awaited<ReturnType<typeof basisOf>>;

/** What a session is opened on: where it works, which model it calls, and where it is stored. */
async function basisOf(parts: AgentParts, own: RunOptions, prompt: Prompt | undefined) {
  const { options } = parts;
  const cwd = own.cwd ?? parts.cwd;
  const tape = await tapeFor(options.tape, own.tape, cwd, parts.resolve, options.from);
  const engine = engineOf(own.step ?? options.step);
  const logged = tape || engine ? undefined : await sessionLogFor(options, own, cwd, prompt, parts.resolve);
  const lane = tape?.lane("main") ?? logged?.lane;
  const clock = lane?.clock ?? systemClock;
  const choices = choicesOf(options, own, tape, logged);
  const { model, modelName, isNamed } = modelOf(choices.model, tape?.isOffline);
  if (tape?.wire && apiOf(model, modelName) === "openai") {
    throw new TypeError(
      `Cannot replay over the wire as model '${modelName}' is not reached by the SDK: leave out --wire`,
    );
  }
  const limits = own.limits ? limitsOf({ ...options.limits, ...own.limits }) : parts.limits;
  const prices = { ...options.prices, ...own.prices };
  if (limits.dollars !== undefined && !model.isFree) {
    for (const name of [modelName, options.fallbackModel ?? modelName]) checkPriced(name, prices);
  }
  const store = claiming(await storeFor(parts, own, tape, logged));
  // A fork has no place in the recording of what it forks from.
  const id = logged?.id ?? (own.fork === undefined ? own.resume ?? own.id ?? clock.uuid() : systemClock.uuid());
  const { memory } = choices;
  const asking = async (prompts?: AskOptions) => {
    const asks = asksOf(options, own, prompts);
    return parts.output ? await parts.output.asks(asks) : asks;
  };
  return {
    asking,
    asks: await asking(),
    ...{ parts, options, own, cwd, tape, logged, lane, clock, model, modelName, isNamed, prices, memory },
    ...{ limits, store, engine, id },
  };
}

/**
 * A replay has the ids of its recording: kept, it would write into the transcript of the one before. A script that is
 * replayed by the environment may continue what it began; a run under faults brings a store of its own to be killed with.
 */
async function storeFor(
  parts: AgentParts,
  own: RunOptions,
  tape: TapeSession | undefined,
  logged: SessionLog | undefined,
): Promise<SessionStore> {
  if (logged && !own.store && !parts.options.store) return logged.store;
  const kept = own.store ? sessionStore(own.store) : parts.store;
  const given = own.store ?? parts.options.store;
  // An engine knows a run by how many the store has of it, which messages alone do not say.
  if (engineOf(own.step ?? parts.options.step) && given && !given.append) {
    throw new TypeError("Cannot run on an engine with a store that has no 'append': use jsonlStore or sqliteStore");
  }
  if (!tape?.isOffline || (tape.faults && own.store)) return kept;
  if (!isOfEnvironment(tape)) return own.resume === undefined ? sessionStore(memoryStore()) : kept;
  return own.resume === undefined || await replayed.load(own.resume) ? replayed : kept;
}

let logs: Promise<typeof import("./log.ts")> | undefined;

/** The log of a session, if it has one: without, nothing of it is loaded. */
async function sessionLogFor(...given: Parameters<typeof import("./log.ts").logFor>) {
  const [options, own] = given;
  const isWanted = own.log ?? own.durable ?? own.from ?? process.env.CROCHET_LOG ?? options.from;
  if (!isWanted) {
    return undefined;
  }
  return await (await (logs ??= import("./log.ts"))).logFor(...given);
}

/** What scripts began in this process on tapes of the environment. */
const replayed = sessionStore(memoryStore());

async function sessionOn(basis: SessionBasis, past: Past | undefined): Promise<AgentSession> {
  const { parts, options, own, cwd, tape, logged, lane, clock, model, isNamed, prices } = basis;
  const { limits, store, engine, id, asks } = basis;
  const { system, lasting, instructions, refused, afterWrite } = await systemOf(basis);
  const steps = engine && await import("./steps.ts");
  const chosen = {
    permissions: rulesOf(options.permissions, own.permissions),
    ask: steps
      ? steps.askerOn(engine!, own.ask, (event) => emit(event))
      : own.ask ?? logged?.waiting((event) => emit(event)),
    sandbox: own.sandbox ?? options.sandbox,
  };
  const { permissions, ask, sandbox: confined } = await decidedBy(options, chosen, tape, logged);
  const gate = await gateOf(permissions, ask, cwd);
  const compactor = compactorFor(own.compact ?? options.compact, model);
  const spans = await spansOf(basis);
  const rollout = await rolloutOf(basis);
  let promptId: string | undefined;

  const emit = (event: RunEvent) => {
    if (event.agent_id === id) keep.note(event);
    compactor?.note(event);
    logged?.log.note(event);
    rollout?.write(event, warn);
    spans?.note(event);
    options.on?.(event);
    own.on?.(event);
  };
  const warn = (message: string) => emit({ agent_id: id, type: "warning", message });
  const isWatched = own.on !== undefined || options.on !== undefined;
  const toolState = new Map<string, unknown>([[ROOTS, [cwd]]]);
  const envFile = sessionEnvFile(toolState);
  const sandbox = sessionSandbox(confined, cwd);
  const asker = await askerFor(own.asker, tape?.answers ?? logged?.answers);
  if (asker) toolState.set(ASKER, asker);
  if (tape?.recordsTools) {
    toolState.set(HAS_READ, (path: string, text: string) => tape.recording.hasRead(cwd, path, text));
  }
  if (logged) toolState.set(HAS_READ, (path: string, text: string) => logged.hasRead(path, text));
  if (tape?.project !== undefined) toolState.set(PROJECT, tape.project);
  if (gate) toolState.set(PLAN_MODE, gate.plan).set(HIDES, gate.hides);
  if (sandbox.sandbox) toolState.set(SANDBOX, sandbox.sandbox);
  const laterCode = sandbox.sandbox && (await import("../permissions/later-code.ts")).watchLaterCode(cwd);
  if (past && !engine && hadShell(past.messages)) toolState.set(HAD_SHELL, true);
  const stored = past?.forked ? undefined : past?.transcript;
  const { inbox, boxes } = boxesOf(steps, lane);
  const state: SessionState = newSessionState({
    id,
    model: past?.model !== undefined && own.model === undefined ? past.model : basis.modelName,
    clock,
    ...boxes,
    cwd: () => shellCwd(toolState) ?? cwd,
    emit,
    ...(!isWatched && !rollout && !spans && { hears: (type) => isKept(type) || (logged?.hears(type) ?? false) }),
    toolState,
    messages: past?.messages ?? [],
    runs: stored?.endings.length ?? 0,
    ...logged?.left,
    save: (...given) => keep.save(...given),
    contextOf: (...given) => spawning({ agent: spec, parent: () => state, store, engine, lane, inbox })(...given),
  });
  const about = {
    agent_type: parts.name,
    model: state.model,
    system: hashOf(lasting),
    tools: [] as readonly string[],
    prompt: "",
    cwd,
    created: new Date(clock.now()).toISOString(),
  };
  const keep = keeper({
    ...{ store, id, stored, about: stored ? undefined : about },
    state: () => state,
    isRerun: engine !== undefined,
  });
  refused.forEach(warn);
  const signals = [options.signal, own.signal].filter((signal) => signal !== undefined);
  const mcp = [options.mcp, own.mcp];
  const set = await toolSet({ own: parts.tools, mcp, tape, cwd, state: toolState, signals, warn });
  about.tools = set.tools.map((tool) => tool.name);
  const hasModel = !isNamed || tape?.isOffline === true || isReachable(state.model, process.env);
  const definition: AgentSpec = {
    type: parts.name,
    model,
    system,
    get tools() {
      return set.tools;
    },
    limits,
    limitWarning,
    ...asks,
    ...(parts.output && { finish: parts.output.finish }),
    ...(parts.apiTools.length > 0 && { apiTools: parts.apiTools }),
    hooks: withNameWarnings(
      hookList({
        inCode: parts.codeHooks,
        folders: await hookFolders(parts),
        found: notedHooks(own.hooks, tape),
        onFiles: (files) => {
          const names = files.map(({ name }) => name);
          if (tape) tape.recording.hooks = names;
          else if (names.length > 0) logged?.log.also({ hooks: names });
        },
        runner: {
          host: hookHost({
            ...{ id, cwd, store, set, gate, toolState },
            promptId: () => promptId,
            envFile: envFile.path,
            confine: sandbox.hooks,
            emit: isWatched ? emit : undefined,
          }),
          prompt: {
            model: hasModel ? model : undefined,
            // The default is a model that only the Messages API has.
            get modelName() {
              return apiOf(model, state.model) === "openai" ? state.model : undefined;
            },
          },
          warn,
          emit: (event) => emit({ agent_id: id, ...event }),
          ...commandRules(gate, sandbox.turn, cwd),
        },
      }),
      () => set.tools,
      warn,
    ),
    ...(steps ? { around: steps.stepsOn(engine!, spans?.around) } : spans && { around: spans.around }),
    price: (name, usage, asked = model) => asked.isFree ? 0 : price(name, usage, prices),
    exec: hookExec(sandbox.hooks),
    files: async (cwd) => (await import("../files/hook-files.ts")).hookFiles(cwd),
    ...(gate && { permit: permitter(gate) }),
    recovery: recovery(options.fallbackModel, compactor && ((run) => compactor.compact(run, true))),
    paramsOf,
    ...(afterWrite && { afterWrite }),
    ...(compactor && { compact: compactor.compact }),
  };
  const spec = lane ? lane.spec(definition) : definition;
  if (tape) {
    tape.isWatched = isWatched;
    tape.loadsBeside = parts.script !== undefined;
    tape.isRuled = own.permissions !== undefined || own.ask !== undefined;
  }
  if (logged) logged.isRuled = own.permissions !== undefined || own.ask !== undefined;
  const source = past ? (past.forked ? "fork" : "resume") : "startup";
  const session = openSession(spec, state, { source, instructions });
  return agentSession({
    ...{ spec, state, session, store, keep, about, past, stored, engine, gate, tape, logged, lane, hasModel, signals },
    asking: basis.asking,
    onPrompt: (id) => promptId = id,
    release: async (stop) => {
      if (toolState.has(SHELL)) await (await import("../tools/bash.ts")).closeShell(toolState);
      await set.close();
      const changed = laterCode?.() ?? [];
      if (changed.length > 0) {
        const few = changed.slice(0, 10).join(", ");
        warn(
          `New or changed in this run, and may run outside the sandbox later: ${few}${changed.length > 10 ? " …" : ""}`,
        );
      }
      envFile.remove();
      if (tape) await closeTape(tape, stop, warn);
      if (rollout) rollout.close();
      await store.releaseAll();
      await logged?.close();
    },
  });
}

/** The log of everything that happens, if one is wanted. */
async function rolloutOf({ own: { rollout }, id, tape, lane }: SessionBasis) {
  const path = typeof rollout === "function" ? rollout(id) : rollout;
  if (!path) return undefined;
  const { rolloutWriter } = await import("../transcript/rollout.ts");
  const { clock } = lane ?? {};
  return rolloutWriter(path, id, tape ? () => tape.epoch + (clock as TapeLane["clock"]).elapsed() : Date.now);
}

/** The spans of the session, if an application collects them. */
async function spansOf({ model, modelName, asks: { maxTokens } }: SessionBasis): Promise<Tracing | undefined> {
  if (!openTelemetry()?.trace) return undefined;
  const { tracing } = await import("../telemetry/telemetry.ts");
  return await tracing({ provider: apiOf(model, modelName), maxTokens });
}

/** What an application has registered to collect spans with: without, nothing of OpenTelemetry is loaded. */
function openTelemetry(): { trace?: unknown } | undefined {
  return (globalThis as { [key: symbol]: { trace?: unknown } })[Symbol.for("opentelemetry.js.api.1")];
}

/** @throws {TypeError} if a limit in dollars could not be kept */
function checkPriced(model: string, prices: Prices): void {
  if (price(model, NO_USAGE, prices) !== undefined) return;
  const one = `prices: { ${JSON.stringify(model)}: { input, output, cacheRead, cacheWrite } }`;
  throw new TypeError(
    `Cannot keep limits.dollars as the price of model '${model}' is unknown: set ${one}, in dollars per million tokens, or use limits.tokens`,
  );
}

/** A run's own rules, beside which the agent's deny rules still hold; else the agent's. */
function rulesOf(agents: RunOptions["permissions"], own: RunOptions["permissions"]): RunOptions["permissions"] {
  if (!own || !agents?.deny) return own ?? agents;
  return { ...own, deny: [...new Set([...agents.deny, ...own.deny ?? []])] };
}

let gates: typeof import("../permissions/gate.ts") | undefined;

async function gateOf(permissions: RunOptions["permissions"], ask: RunOptions["ask"], cwd: string) {
  if (!permissions && !ask) return undefined;
  gates ??= await import("../permissions/gate.ts");
  return gates.permissionGate({ roots: [cwd], mode: "bypassPermissions", ...permissions }, ask ? { ask } : {});
}
