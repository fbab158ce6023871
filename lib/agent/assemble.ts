import type { AgentSession, RunOptions } from "./options.ts";
import { type AgentSpec, newSessionState, type SessionState } from "../core/run.ts";
import { limitsOf, limitWarning } from "./given-limits.ts";
import type { PermissionGate, Ruling } from "../permissions/gate.ts";
import type { Permissions } from "../permissions/rules.ts";
import { NO_USAGE, type Prompt } from "../core/messages.ts";
import { compactorFor } from "./compact.ts";
import { modelParamsOf, type ParamOptions, paramsOf } from "./params.ts";
import type { RunEvent } from "../core/run-events.ts";
import { openSession } from "./session.ts";
import { ROOTS } from "../core/tool.ts";
import {
  HAD_SHELL,
  HAS_READ,
  HIDES,
  PLAN_MODE,
  PROJECT,
  QUESTIONS,
  SANDBOX,
  SHELL,
  shellCwd,
} from "../tools/tool-state.ts";
import { price, type Prices } from "../models/anthropic/prices.ts";
import type { Tracing } from "../telemetry/telemetry.ts";
import { hashOf } from "../runtime/sha256.ts";
import { transcriptWriter } from "../log/stores/write-transcript.ts";
import { agentSession } from "./agent-session.ts";
import { commandRules, hookExec, hookHost, sessionEnvFile, sessionSandbox } from "./hook-services.ts";
import { hookList, hookMembers, withNameWarnings } from "./hook-list.ts";
import { apiOf, isReachable, modelOf } from "./named-model.ts";
import { pastFor, type StoredPast } from "./session-past.ts";
import { type CheckedOptions, openPlace, type SessionPlace } from "./session-place.ts";
import { boxesOf, hadShell, spawning, specFor } from "./spawn.ts";
import type { StoredBelow } from "./stored-below.ts";
import { recovery } from "./recovery.ts";
import { systemOf } from "./system-prompt.ts";
import { choicesOf, closeTape, type Decided, decidedBy, notedHooks, questionAskerFor } from "./session-tape.ts";
import { toolSet } from "./tool-set.ts";

/**
 * Puts an agent's session together, one part after the other: each is made of those before it.
 *
 * @throws {TypeError} if an option or the environment does not allow it
 */
export async function assemble(parts: CheckedOptions, own: RunOptions, prompt?: Prompt): Promise<AgentSession> {
  const place = await openPlace(parts, own, prompt);
  try {
    await place.store.lock(place.id);
    // Read only once it is claimed: a run that just ended may have written to it.
    const past = await pastFor(place.store, own);
    const below = past && await (await import("./stored-below.ts")).storedBelow(place, past);
    const chosen = await choose(place, below);
    const bus = await openBus(place, chosen);
    const text = await systemOf({ ...place, memory: chosen.memory });
    const kept = await openState(place, past, below, chosen, bus, below ? below.system ?? text.system : text.lasting);
    const rules = await openRules(place, bus);
    const tools = await openTools(place, past, kept.state, rules, bus);
    [...text.refused, ...place.warnings].forEach(bus.warn);
    const hooks = await openHooks(place, chosen, kept.state, rules, tools, bus);
    const spec = specOf(place, below, chosen, { ...text, ...rules, ...tools, hooks, bus });
    kept.about.tools = spec.tools.map(({ name }) => name);
    return openAgent(place, past, chosen, { ...text, ...kept, ...rules, ...tools, hooks, bus, spec });
  } catch (error) {
    await place.store.releaseAll();
    await place.logged?.close();
    throw error;
  }
}

type Chosen = Awaited<ReturnType<typeof choose>>;

/** The model, its limits and what is asked of it: as the run says, else as it was recorded, else as the agent says. */
async function choose({ parts, options, own, tape, record }: SessionPlace, below: StoredBelow | undefined) {
  const { model: named, memory } = choicesOf(options, own, tape, record);
  const { model, modelName, isNamed } = modelOf(named, tape?.policy.isOffline);
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
  const paramsFor = async (prompts?: ParamOptions) => {
    // Another model than its parent's may not take what is asked of that.
    const modelParams = modelParamsOf(below?.model === undefined ? options : {}, own, prompts);
    return parts.output && !below ? await parts.output.withFormat(modelParams) : modelParams;
  };
  const compactor = compactorFor(own.compact ?? options.compact, model);
  return { model, modelName, isNamed, limits, prices, memory, paramsFor, modelParams: await paramsFor(), compactor };
}

/** What a session itself needs, even without another listener. */
const ALWAYS_HEARD: ReadonlySet<RunEvent["type"]> = new Set(["usage", "model", "compact"]);

type Bus = Awaited<ReturnType<typeof openBus>>;

/** Passes on everything that happens: to the log, spans and listeners; to `first` before all others. */
async function openBus(
  { options, own, id, logged }: SessionPlace,
  { model, modelName, modelParams, compactor }: Chosen,
) {
  const spans = await spansOf(apiOf(model, modelName), modelParams.maxTokens);
  const isWatched = own.on !== undefined || options.on !== undefined;
  const first: ((event: RunEvent) => void)[] = [];
  const emit = (event: RunEvent): void => {
    for (const listener of first) listener(event);
    compactor?.note(event);
    logged?.log.note(event);
    spans?.note(event);
    options.on?.(event);
    own.on?.(event);
  };
  const warn = (message: string) => emit({ agent_id: id, type: "warning", message });
  const hears = isWatched || spans
    ? undefined
    : (type: RunEvent["type"]) => ALWAYS_HEARD.has(type) || (logged?.hears(type) ?? false);
  return { emit, warn, first, hears, isWatched, spans };
}

/** What the session keeps while it lasts, and what keeps its transcript. */
async function openState(
  { parts, own, cwd, clock, steps, engine, store, lane, logged, id }: SessionPlace,
  past: StoredPast | undefined,
  below: StoredBelow | undefined,
  { modelName }: Chosen,
  { emit, hears, first }: Bus,
  lasting: string,
) {
  const toolState = new Map<string, unknown>([[ROOTS, [cwd]]]);
  const stored = past?.isCopied ? undefined : past?.transcript;
  const { inbox, boxes } = boxesOf(steps, lane);
  const model = past?.model !== undefined && own.model === undefined ? past.model : modelName;
  const about = {
    agent_type: below?.type ?? parts.name,
    model,
    system: hashOf(lasting, 16),
    tools: [] as readonly string[],
    ...(below && { parent: below.parent }),
    prompt: past?.transcript.about?.prompt ?? "",
    cwd,
    created: new Date(clock.now()).toISOString(),
  };
  const messages = past?.messages ?? [];
  const transcript = transcriptWriter({
    ...{ store, id, stored, about: stored ? undefined : about, clock, length: messages.length },
    isRerun: engine !== undefined,
  });
  first.push((event) => event.agent_id === id && transcript.note(event));
  const state: SessionState = newSessionState({
    ...{ id, model, clock, emit, toolState, messages, ...boxes, ...(hears && { hears }) },
    ...(below && { depth: below.depth }),
    cwd: () => shellCwd(toolState) ?? cwd,
    runs: stored?.endings.length ?? 0,
    ...logged?.left,
    save: transcript.save,
    contextOf: (run, call) =>
      spawning({ agent: run.agent, parent: () => run.state, store, engine, lane, inbox })(run, call),
  });
  return { state, transcript, about, stored };
}

type Rules = Awaited<ReturnType<typeof openRules>>;

/** What decides whether calls run, and where they are confined to. */
async function openRules({ options, own, cwd, tape, engine, steps, logged, record }: SessionPlace, { emit }: Bus) {
  const decided = await decidedBy(options, {
    permissions: rulesOf(options.permissions, own.permissions),
    rules: own.rules,
    mcp: own.mcp,
    permissionAsker: steps
      ? steps.permissionAskerOn(engine!, own.permissionAsker, emit)
      : own.permissionAsker ?? logged?.waiting(emit),
    sandbox: own.sandbox ?? options.sandbox,
  }, { tape, record });
  if (record) record.isRuled = own.permissions !== undefined || own.permissionAsker !== undefined;
  return { gate: await gateOf(decided, cwd), sandbox: sessionSandbox(decided.sandbox, cwd) };
}

type Tools = Awaited<ReturnType<typeof openTools>>;

/** The tools, and what they share while the session lasts. */
async function openTools(
  { parts, options, own, cwd, tape, engine, record, signals }: SessionPlace,
  past: StoredPast | undefined,
  { toolState }: SessionState,
  { gate, sandbox: { sandbox } }: Rules,
  { warn }: Bus,
) {
  const envFile = sessionEnvFile(toolState);
  const questionAsker = await questionAskerFor(own.questionAsker, record?.answers);
  if (questionAsker) toolState.set(QUESTIONS, questionAsker);
  if (record && (!tape || tape.records.tools)) toolState.set(HAS_READ, record.hasRead);
  if (tape?.options.project !== undefined) toolState.set(PROJECT, tape.options.project);
  if (gate) toolState.set(PLAN_MODE, gate.plan).set(HIDES, gate.hides);
  if (sandbox) toolState.set(SANDBOX, sandbox);
  if (past && !engine && hadShell(past.messages)) toolState.set(HAD_SHELL, true);
  const laterCode = sandbox && (await import("../permissions/later-code.ts")).watchLaterCode(cwd);
  const mcp = [options.mcp, own.mcp];
  const set = await toolSet({ own: parts.tools, mcp, tape, cwd, state: toolState, signals, warn });
  const close = async () => {
    if (toolState.has(SHELL)) await (await import("../tools/bash.ts")).closeShell(toolState);
    await set.close();
    const changed = laterCode?.() ?? [];
    const few = `${changed.slice(0, 10).join(", ")}${changed.length > 10 ? " …" : ""}`;
    if (changed.length > 0) warn(`New or changed in this run, and may run outside the sandbox later: ${few}`);
    envFile.remove();
  };
  return { set, envFile, closeTools: close };
}

/** The agent's hooks, bound to the session: those in code, its folders, and what was found elsewhere. */
async function openHooks(
  { parts, own, cwd, tape, record, id, store }: SessionPlace,
  { model, isNamed }: Chosen,
  state: SessionState,
  { gate, sandbox }: Rules,
  { set, envFile }: Tools,
  { emit, warn, isWatched }: Bus,
) {
  const hasModel = !isNamed || tape?.policy.isOffline === true || isReachable(state.model, process.env);
  const current: { promptId?: string } = {};
  if (tape) tape.loadsBeside = parts.script !== undefined;
  const list = hookList({
    members: await hookMembers(parts),
    found: notedHooks(own.hooks, tape),
    onFiles: (files) => {
      if (files.length > 0) record?.also({ hooks: files.map(({ name }) => name) });
    },
    runner: {
      host: hookHost({
        ...{ id, cwd, store, set, gate, toolState: state.toolState },
        promptId: () => current.promptId,
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
  });
  return { list: withNameWarnings(list, () => set.tools, warn), hasModel, current };
}

type Hooks = Awaited<ReturnType<typeof openHooks>>;
type SpecParts = Awaited<ReturnType<typeof systemOf>> & Rules & Tools & { readonly hooks: Hooks; readonly bus: Bus };

/** The agent as the loop sees it. */
function specOf(
  { parts, options, cwd, lane, engine, steps }: SessionPlace,
  below: StoredBelow | undefined,
  { model, memory, limits, prices, modelParams, compactor }: Chosen,
  { system, systemBlocks, gate, sandbox, set, hooks, bus: { spans } }: SpecParts,
): AgentSpec {
  const spec: AgentSpec = {
    type: parts.name,
    model,
    system,
    systemBlocks,
    get tools() {
      return set.tools;
    },
    limits,
    limitWarning,
    ...modelParams,
    ...(parts.output && { finish: parts.output.finish }),
    ...(parts.apiTools.length > 0 && { apiTools: parts.apiTools }),
    hooks: hooks.list,
    ...(steps ? { around: steps.stepsOn(engine!, spans?.around) } : spans && { around: spans.around }),
    price: (name, usage, asked = model) => asked.isFree ? 0 : price(name, usage, prices),
    exec: hookExec(sandbox.hooks),
    files: async (cwd) => (await import("../hooks/hook-files.ts")).hookFiles(cwd),
    ...(gate && { permit: gates!.permitter(gate) }),
    recovery: recovery(options.fallbackModel, compactor && ((run) => compactor.compact(run, true))),
    paramsOf,
    watchWrite: memoryWatcher(cwd, memory),
    ...(compactor && { compact: compactor.compact }),
  };
  const own = below ? specFor(spec, below, modelParams) : spec;
  return lane ? lane.spec(own) : own;
}

/** Watches memory files once a hook listens: few do. */
function memoryWatcher(cwd: string, memory: Chosen["memory"]): NonNullable<AgentSpec["watchWrite"]> {
  let loaded: Promise<ReturnType<typeof import("./memory-watch.ts").memoryWatch>> | undefined;
  return (run, call) => {
    if (!run.hears("memory-update")) return undefined;
    loaded ??= import("./memory-watch.ts").then(({ memoryWatch }) => memoryWatch(cwd, memory));
    return loaded.then((watch) => watch(run, call));
  };
}

type OpenState = Awaited<ReturnType<typeof openState>>;

function openAgent(
  place: SessionPlace,
  past: StoredPast | undefined,
  { paramsFor }: Chosen,
  { hooks, bus, closeTools, instructions, ...made }: SpecParts & OpenState & { readonly spec: AgentSpec },
): AgentSession {
  const { tape, logged, store } = place;
  if (tape) tape.isWatched = bus.isWatched;
  const source = past ? (past.forked ? "fork" : "resume") : "startup";
  const { profile = null, config = null } = place.options;
  const session = openSession(made.spec, made.state, { source, instructions, profile, config });
  return agentSession({
    ...place,
    ...made,
    past,
    session,
    paramsFor,
    hasModel: hooks.hasModel,
    onPrompt: (id) => hooks.current.promptId = id,
    release: async (stop) => {
      await closeTools();
      if (tape) await closeTape(tape, stop, bus.warn);
      await store.releaseAll();
      await logged?.close();
    },
  });
}

/** The spans and metrics of the session, if an application collects them, or the environment says where to send them. */
async function spansOf(provider: ReturnType<typeof apiOf>, maxTokens: number): Promise<Tracing | undefined> {
  // What an application has registered to collect them with: without, nothing of OpenTelemetry is loaded.
  const registered =
    (globalThis as { [key: symbol]: { trace?: unknown; metrics?: unknown } })[Symbol.for("opentelemetry.js.api.1")];
  const isSent = !registered?.trace && isExportAsked(process.env) &&
    await (await import("../telemetry/export-spans.ts")).exportSpans();
  if (!registered?.trace && !registered?.metrics && !isSent) return undefined;
  return await (await import("../telemetry/telemetry.ts")).tracing({ provider, maxTokens });
}

/** Whether the variables that all SDKs of OpenTelemetry read name a collector. */
function isExportAsked(env: NodeJS.ProcessEnv): boolean {
  const isNamed = Boolean(env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT);
  return isNamed && env.OTEL_SDK_DISABLED?.toLowerCase() !== "true" && env.OTEL_TRACES_EXPORTER !== "none";
}

/** @throws {TypeError} if a limit in dollars could not be kept */
function checkPriced(model: string, prices: Prices): void {
  if (price(model, NO_USAGE, prices) !== undefined) return;
  const one = `prices: { ${JSON.stringify(model)}: { input, output, cacheRead, cacheWrite } }`;
  throw new TypeError(
    `Cannot keep a limit in dollars as the price of model '${model}' is unknown: limit tokens (limits.tokens, --budget 500k), or set ${one}, in dollars per million tokens, in the agent or in .crochet/config.yaml`,
  );
}

/** A run's own rules, beside which the agent's deny rules still hold; else the agent's. */
function rulesOf(agents: RunOptions["permissions"], own: RunOptions["permissions"]): RunOptions["permissions"] {
  if (!own || !agents?.deny) return own ?? agents;
  return { ...own, deny: [...new Set([...agents.deny, ...own.deny ?? []])] };
}

let gates: typeof import("../permissions/gate.ts") | undefined;
let ruling: Ruling | undefined;

/** The gate of a session. Without rules there is nothing to check before the first call, which loads what decides. */
async function gateOf({ permissions, permissionAsker }: Decided, cwd: string): Promise<PermissionGate | undefined> {
  if (!permissions && !permissionAsker) return undefined;
  const { checkPermissions, gateBy, hasRules } = gates ??= await import("../permissions/gate.ts");
  const given: Permissions = { roots: [cwd], mode: "bypassPermissions", ...permissions };
  checkPermissions(given);
  const load = () => ruling ?? import("../permissions/ruling.ts").then((loaded) => ruling = loaded.ruling);
  if (hasRules(given)) (await load()).checkRules([...given.allow ?? [], ...given.ask ?? [], ...given.deny ?? []]);
  return gateBy(load, given, permissionAsker);
}
