import type { Folded } from "../core/fold.ts";
import { type Opinion, readNative } from "../core/verdict.ts";
import { readRan } from "../hooks/process/read-result.ts";
import { type CallMatchers, callMatchers, isEqual, type Matched, type MatchersOf } from "./call-matchers.ts";
import { type Answered, type ExpectedAction, type HookAct, whatItDid } from "./expectation.ts";

/** What `expect(…)` is extended with: the types, for the declaration of the runner's own. */
export interface HookMatchers<R = void> {
  /** The hook refuses; a reason must be in its words, or match. */
  toDeny(reason?: string | RegExp): R;
  /** The hook sends the agent back to work at a stop, for this reason. */
  toContinueWork(reason?: string | RegExp): R;
  /** The hook puts something else in the place of the event's subject. */
  toModify(value?: unknown): R;
  /** The hook says yes, without asking a person. */
  toAllow(): R;
  /** The hook leaves it to a person. */
  toAsk(reason?: string | RegExp): R;
  /** The hook has no objection: it neither refuses nor asks, changes, ends or fails. */
  toPass(): R;
}

/**
 * Matchers for answers of hooks: of a hook function, of `askHook()`, of `HookRegistry.fire()`, or of a command that was
 * run (its exit code and output); and for the calls of a run, which `replay()` gives. For `expect.extend()` of bun:test, vitest and @std/expect.
 *
 * @example
 * ```ts
 * import { deny, type PreToolUseHook } from "crochet";
 * import { matchers } from "crochet/testing";
 *
 * // In a test file: expect.extend(matchers), then expect(await noForce(event, ctx)).toDeny(/force/)
 * const noForce: PreToolUseHook = ({ input }) => String(input.command).includes("--force") ? deny("No force") : undefined;
 * const answer = await noForce({ input: { command: "git push --force" } } as never, {} as never);
 * console.log(matchers.toDeny.call({}, answer, /force/).pass); // true
 * ```
 */
export const matchers: MatchersOf<HookMatchers & CallMatchers> = {
  toDeny: deciding("deny", "deny"),
  toContinueWork: deciding("continue the agent's work", "deny"),
  toAsk: deciding("ask a person", "ask"),
  toAllow: deciding("allow", "allow"),
  toPass: deciding("have no objection", "continue"),
  toModify(answer, ...expected) {
    const answered = answeredBy(answer);
    const did = whatItDid(answered);
    const pass = did.action === "modify" &&
      (expected.length === 0 || isEqual(this, answered.opinion?.value?.to, expected[0]));
    const to = expected.length === 0 ? "" : ` to ${JSON.stringify(expected[0])}`;
    return { pass, message: () => sentence(`change the event${to}`, did, pass) };
  },
  ...callMatchers,
};

function deciding(verb: string, action: ExpectedAction) {
  return (answer: unknown, reason?: string | RegExp): Matched => {
    const did = whatItDid(answeredBy(answer));
    const pass = did.action === action && (reason === undefined || did.reasons.some((said) => fits(said, reason)));
    const because = reason === undefined ? "" : ` for ${reason instanceof RegExp ? reason : JSON.stringify(reason)}`;
    return { pass, message: () => sentence(`${verb}${because}`, did, pass) };
  };
}

/** A new one each time: a regular expression that remembers where it was would fail every other time. */
function fits(said: string, reason: string | RegExp): boolean {
  return typeof reason === "string" ? said.includes(reason) : new RegExp(reason).test(said);
}

function sentence(verb: string, { words }: HookAct, passed: boolean): string {
  return `Expected the hook ${passed ? "not to" : "to"} ${verb}, but ${words}`;
}

type EventFields = { readonly [field: string]: unknown };

function answeredBy(answer: unknown): Answered {
  if (typeof answer !== "object" || answer === null) return native(answer);
  const fields = answer as EventFields;
  if ("stdout" in fields && "stderr" in fields && codeOf(fields) !== undefined) return command(fields);
  if ("runs" in fields && "denials" in fields) return folded(fields as unknown as Folded);
  if ("opinion" in fields || "failure" in fields || "timedOut" in fields || "skipped" in fields) return fields;
  if ("hookSpecificOutput" in fields || "decision" in fields) return { opinion: wire(fields) };
  return native(answer);
}

/** What all hooks of an event decided together. A turn-end hook keeps the agent at work by what it gives it to read. */
function folded({ decision, reason, modified, value, halt, abort, runs, inputs }: Folded): Answered {
  const failure = runs.find((run) => run.failure !== undefined)?.failure;
  if (failure !== undefined) return { failure: { message: failure } };
  const said = inputs[0] && decision === "continue" ? inputs[0].text : reason;
  return {
    opinion: {
      ...(inputs[0] ? { decision: "deny" } : decision !== "continue" && { decision }),
      ...(said !== undefined && { reason: said }),
      ...(modified && { value: { to: value } }),
      ...(halt && { halt: halt.reason }),
      ...(abort && { abort: abort.reason }),
    },
  };
}

/** An answer in our own words; `{ continue: true, reason }` is what a stop hook says. */
function native(answer: unknown): Answered {
  const stop = typeof answer === "object" && answer !== null && "continue" in answer && !("action" in answer);
  return read(() => readNative(answer, stop ? "stop" : "pre-tool-use"));
}

function read(work: () => Opinion): Answered {
  try {
    return { opinion: work() };
  } catch (error) {
    return { failure: error as Error };
  }
}

/** The JSON that command hooks print, whatever the event: its decision, wherever it stands. */
function wire(output: EventFields): Opinion {
  const specific = (output.hookSpecificOutput ?? {}) as EventFields;
  const { behavior, message, updatedInput } = (specific.decision ?? {}) as EventFields;
  const said = specific.permissionDecision ?? behavior ?? output.decision;
  const decision = said === "block" ? "deny" : said === "approve" ? "allow" : said;
  const reason = specific.permissionDecisionReason ?? message ?? output.reason;
  const to = specific.updatedInput ?? updatedInput ?? specific.updatedToolOutput;
  return {
    ...((decision === "deny" || decision === "allow" || decision === "ask") && { decision }),
    ...(typeof reason === "string" && { reason }),
    ...(to !== undefined && { value: { to } }),
    ...(output.continue === false && { halt: String(output.stopReason ?? "") }),
  };
}

/** By the names of node's spawnSync, of Bun's and of Deno's. */
function codeOf({ status, exitCode, code }: EventFields): number | undefined {
  return [status, exitCode, code].find((value) => typeof value === "number") as number | undefined;
}

function command(fields: EventFields): Answered {
  const ran = { code: codeOf(fields)!, signal: null, stdout: textOf(fields.stdout), stderr: textOf(fields.stderr) };
  return read(() => readRan(ran, wire).opinion);
}

function textOf(output: unknown): string {
  return output instanceof Uint8Array ? new TextDecoder().decode(output) : String(output ?? "");
}
