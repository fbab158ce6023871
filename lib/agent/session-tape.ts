import type { AgentOptions, RunOptions } from "./options.ts";
import type { Answers, SessionRecord } from "../replay/person-answers.ts";
import type { DriftReport } from "../replay/drift/drift-report.ts";
import type { Header } from "../log/entry.ts";
import type { TapedSession } from "../replay/taped-session.ts";
import type { OwnRules } from "../permissions/rule-drift.ts";

/** The tape of a session, if it has one: that of its run, or of its agent. */
export async function tapeFor(
  agents: AgentOptions["tape"],
  own: RunOptions["tape"],
  cwd: string,
  resolve: (path: string) => string,
  from?: string,
): Promise<TapedSession | undefined> {
  // Who sets it expects a run without a model.
  if (process.env.CROCHET_TAPE) {
    throw new TypeError("Cannot run as CROCHET_TAPE is gone: 'crochet record' and 'crochet replay' take the script");
  }
  if (agents === undefined && own === undefined) return undefined;
  loaded ??= Promise.all([import("../replay/tape-options.ts"), import("../replay/taped-session.ts")]);
  const [{ tapeOptions }, { openTape }] = await loaded;
  const options = tapeOptions((own ?? agents)!, process.env, resolve);
  if (options?.mode !== "record" && options?.mode !== "update") return options && await openTape(options, cwd);
  const { recordedFrom } = await import("../replay/record/keep-files.ts");
  const recorded = recordedFrom(options, from, cwd, own === undefined);
  try {
    return await openTape(recorded, cwd);
  } catch (error) {
    recorded.workspace?.drop();
    throw error;
  }
}

/** The model and the memory of a run: its own, else what the recorded run chose in their place, else the agent's. */
export function choicesOf(
  agents: AgentOptions,
  own: RunOptions,
  tape: TapedSession | undefined,
  record: SessionRecord | undefined,
): Pick<RunOptions, "model"> & { memory: NonNullable<RunOptions["memory"]> } {
  const chosen = new Set(tape?.program?.tape.header.chosen);
  const asked = memoryOf(own.memory, agents.memory);
  if (record && !tape?.replays) {
    if (typeof own.model === "string" && agents.model !== undefined) chosen.add("model");
    if (asked !== (agents.memory ?? false)) chosen.add("memory");
    if (Object.keys(own.limits ?? {}).length > 0) chosen.add("limits");
    if (own.mcp) chosen.add("mcp");
    if (own.maxTokens ?? own.effort ?? own.params) chosen.add("params");
    if (own.messages || (own.resume !== undefined && (tape || own.fork !== undefined))) chosen.add("past");
  }
  if (chosen.size > 0) record?.also({ chosen: [...chosen] });
  const model = own.model ?? (chosen.has("model") ? tape?.model : agents.model ?? tape?.model);
  // A run that chose no memory recorded none.
  const memoryFact = tape?.program?.tape.memory;
  const recorded = memoryFact?.names ? tape!.mask.off(memoryFact.names) : memoryFact !== undefined;
  const memory = chosen.has("memory") ? memoryOf(own.memory, recorded) : asked;
  return { ...(model !== undefined && { model }), memory };
}

/** A run that only asks for memory has it of the files that its agent names. */
function memoryOf(own: RunOptions["memory"], agents: AgentOptions["memory"] = false) {
  return own === undefined || (own === true && agents) ? agents : own;
}

/** Answers the tools' questions: on a tape, answers are recorded and replayed. */
export async function questionAskerFor(
  person: RunOptions["questionAsker"],
  answers: Answers | undefined,
): Promise<RunOptions["questionAsker"]> {
  if (!answers || (!person && answers.known.length === 0)) return person;
  return (await (people ??= import("../replay/person-answers.ts"))).tapedQuestionAsker(answers, person);
}

export type Decided = {
  readonly [part in "permissions" | "rules" | "mcp" | "permissionAsker" | "sandbox"]?: RunOptions[part] | undefined;
};

/**
 * What decides whether calls run, and where. A tape keeps it: a replay decides by its header, with the rules of the
 * program as they are now, and by the answers on it. What lets more through than then is drift.
 */
export async function decidedBy(
  agents: Decided,
  run: Decided,
  { tape, record }: { readonly tape: TapedSession | undefined; readonly record: SessionRecord | undefined },
): Promise<Decided> {
  if (!record) return run;
  const { answers } = record;
  const mayAsk = run.permissionAsker !== undefined && !answers.isOffline;
  const permissionAsker = mayAsk || answers.known.length > 0
    ? (await (people ??= import("../replay/person-answers.ts"))).tapedPermissionAsker(answers, run.permissionAsker)
    : undefined;
  const header = tape?.program?.tape.header;
  if (header) {
    const { permissions: then, sandbox, own } = tape!.mask.off(header) as unknown as Decided & {
      readonly own?: OwnRules;
    };
    const permissions = then ? await rulesOn(tape!, then, own, { agents, run, record }) : agents.permissions;
    return { permissions, permissionAsker, sandbox: sandbox ?? agents.sandbox };
  }
  const { permissions, sandbox } = run;
  const { roots: _, ...rules } = permissions ?? {};
  const known = {
    ...(permissions && { permissions: answers.mask.on(rules) as NonNullable<Header["permissions"]> }),
    ...(permissions && { own: answers.mask.on(await ownRules(agents, run)) as NonNullable<Header["own"]> }),
    ...(sandbox && { sandbox: typeof sandbox === "string" ? { mode: sandbox } : { ...sandbox } as { git: boolean } }),
  };
  record.also(known);
  return { ...run, permissionAsker };
}

type Rules = NonNullable<Header["own"]>;

async function ownRules(agents: Decided, run: Decided): Promise<OwnRules> {
  const { plainRules } = await import("../permissions/rule-drift.ts");
  const project = run.rules && { project: plainRules(run.rules), servers: Object.keys(run.mcp?.servers ?? {}) };
  return { script: plainRules(agents.permissions), ...project };
}

/** What decides in a replay: the rules of the tape, with the program's as they are now. */
async function rulesOn(
  tape: TapedSession,
  then: NonNullable<Decided["permissions"]>,
  was: OwnRules | undefined,
  { agents, run, record }: { readonly agents: Decided; readonly run: Decided; readonly record: SessionRecord },
): Promise<NonNullable<Decided["permissions"]>> {
  const { ruleDrifts, rulesNow, serversGone } = await import("../permissions/rule-drift.ts");
  // A test, which reads no settings, has those of the recording.
  const { project, servers } = was ?? {};
  const is: OwnRules = { ...(project && { project, servers }), ...await ownRules(agents, run) };
  const renew = (permissions: NonNullable<Decided["permissions"]>) => {
    const { on } = record.answers.mask;
    if (tape.mode !== "update") return permissions;
    record.also({ permissions: on({ ...permissions }) as Rules, own: on({ ...is }) as Rules });
    return permissions;
  };
  if (!was) {
    if (tape.mode !== "update") tape.drift.notes.push("rules not compared: record again");
    return renew(then);
  }
  tape.drift.rules.push(
    ...ruleDrifts(was, is).map((one) => ({ cause: "rule" as const, lane: "main", ...one })),
    ...serversGone(was, is).map((one) => ({ cause: "tool" as const, lane: "main", ...one })),
  );
  return renew(rulesNow(then, was, is));
}

/** Hooks that a run adds. The tape notes that there are some, as a replay has only the agent's own. */
export function notedHooks(
  found: RunOptions["hooks"],
  tape: TapedSession | undefined,
): RunOptions["hooks"] {
  if (!tape || tape.replays || !found) return found;
  return (runner) => {
    const list = found(runner);
    return async () => {
      const hooks = await list();
      if (hooks.length > 0) tape.also({ chosen: [...new Set([...tape.known.chosen ?? [], "hooks"])] });
      return hooks;
    };
  };
}

/** Kept: to ask for a module again is quick, and to open a tape is to be quicker; and runs that begin at once keep their order. */
let loaded:
  | Promise<[typeof import("../replay/tape-options.ts"), typeof import("../replay/taped-session.ts")]>
  | undefined;
let people: Promise<typeof import("../replay/person-answers.ts")> | undefined;

/** Ends a tape with its session. Errors are reported as warnings; the Result stays. */
export async function closeTape(
  tape: TapedSession,
  stop: string | undefined,
  warn: (message: string) => void,
): Promise<void> {
  const { workspace, onError, onReport } = tape.options;
  let report: DriftReport;
  try {
    report = await tape.close(stop);
  } catch (error) {
    (onError ?? ((one: unknown) => warn((one as Error).message)))(error);
    return;
  }
  const changed = [...tape.recording?.seen.fields ?? []].join(", ");
  if (changed !== "") {
    const why = `The model's middleware or headers change ${changed}, which only a replay with --wire compares`;
    warn(`${why}: set that by the agent's options or its params instead`);
  }
  for (const { path, why } of workspace?.leftOut ?? []) warn(`${path} is not kept with the fixture: ${why}`);
  if (workspace) {
    const { gitIgnored } = await import("../replay/record/keep-files.ts");
    const ignored = gitIgnored(report.tape, process.cwd());
    if (ignored !== undefined) warn(ignored);
  }
  if (report.ok || onReport) return;
  // What did not come to its end has not drifted.
  if (stop === "aborted" && report.divergences.length + report.tools.length === 0) return;
  const { reportLines } = await import("../replay/drift/drift-report.ts");
  warn(`Tape ${report.tape}: ${reportLines(report).join("\n")}`);
}
