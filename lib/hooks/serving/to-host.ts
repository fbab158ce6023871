import { type AnyEvent, type EventName, type EventOf, EVENTS } from "../../core/events.ts";
import type { Folded } from "../../core/fold.ts";
import { type Opinion, unusable } from "../../core/verdict.ts";
import type { Host } from "./from-host.ts";

/** What a served hook leaves behind. */
export interface Served {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

/** What each host lets a hook do at an event, of the things that not every host does. */
const CAN: { readonly [H in Host]: { readonly [what in Ability]: readonly EventName[] } } = {
  claude: {
    deny: [
      "pre-tool-use",
      "permission-request",
      "post-tool-use",
      "user-prompt-submit",
      "stop",
      "pre-compact",
      "model-switch",
    ],
    ask: ["pre-tool-use", "model-switch"],
    allow: ["pre-tool-use", "permission-request", "model-switch"],
    modify: ["pre-tool-use", "permission-request", "post-tool-use"],
    context: ["pre-tool-use", "post-tool-use", "user-prompt-submit", "session-start", "agent-start", "notification"],
    halt: ["pre-tool-use", "post-tool-use", "user-prompt-submit", "stop", "pre-compact", "notification", "session-end"],
  },
  codex: {
    deny: ["pre-tool-use", "permission-request", "post-tool-use", "user-prompt-submit", "stop"],
    ask: [],
    allow: ["permission-request"],
    modify: ["pre-tool-use"],
    context: ["pre-tool-use", "post-tool-use", "user-prompt-submit", "session-start", "agent-start"],
    halt: ["post-tool-use", "user-prompt-submit", "stop", "session-start", "pre-compact"],
  },
  gemini: {
    deny: ["pre-tool-use", "post-tool-use", "user-prompt-submit", "stop"],
    ask: [],
    allow: ["pre-tool-use"],
    modify: ["pre-tool-use", "post-tool-use"],
    context: ["post-tool-use", "user-prompt-submit", "session-start"],
    halt: ["pre-tool-use", "post-tool-use", "user-prompt-submit", "stop"],
  },
};

type Ability = "deny" | "ask" | "allow" | "modify" | "context" | "halt";

function ability({ event }: AnyEvent, host: Host): (what: Ability) => boolean {
  return (what) => CAN[host][what].includes(event);
}

/**
 * The opinion as the host can carry it out. What it cannot is never dropped: a question becomes a refusal, an end of
 * the run a refusal of the call, and the rest is a failure of the hook, with what failures do.
 */
export function fitting(opinion: Opinion, event: AnyEvent, host: Host): Opinion {
  const can = ability(event, host);
  const cannot = (what: string) => unusable(event.event, `${host} cannot ${what} there`);
  let fit = opinion;
  if (fit.decision === "ask" && !can("ask")) {
    fit = {
      ...fit,
      decision: "deny",
      reason: `A person has to decide, and ${host} asks none: ${fit.reason ?? "no reason"}`,
    };
  }
  // Nothing is lost by not skipping a question.
  if (fit.decision === "allow" && !can("allow")) fit = without(fit, "decision");
  // Nobody can end a session at its start, nor refuse what has happened: that is said where answers are folded.
  const ignored = EVENTS[event.event].deny === "ignored";
  if (fit.halt !== undefined && !can("halt") && event.event !== "session-start") {
    if (!can("deny")) throw cannot("end the run");
    fit = without({ ...fit, decision: "deny", reason: fit.reason || fit.halt || "The run is to end here" }, "halt");
  }
  if (fit.decision === "deny" && !can("deny") && !ignored) throw cannot("be refused anything");
  if (fit.value && fit.decision !== "deny") {
    if (!can("modify")) throw cannot("rewrite anything");
    if (isCall(event) && (typeof fit.value.to !== "object" || fit.value.to === null)) {
      throw unusable(event.event, "its new input is no object");
    }
    if (host === "gemini" && event.event === "pre-tool-use") checkMerge(fit.value.to, event);
    if (event.event === "post-tool-use") checkResult(fit.value.to, event, host);
  }
  if (fit.contexts?.length && !can("context")) {
    const said = fit.contexts.map((c) => c.text).join("\n");
    if (fit.decision !== "deny") throw cannot("tell the model anything");
    // Where the contexts are the reason, they are told already.
    fit = without(fit.text === "" ? fit : { ...fit, reason: `${fit.reason ?? ""}\n${said}`.trim() }, "contexts");
  }
  return fit;
}

function isCall(event: AnyEvent): boolean {
  return event.event === "pre-tool-use" || event.event === "permission-request";
}

function without<K extends keyof Opinion>(opinion: Opinion, key: K): Opinion {
  const { [key]: _, ...rest } = opinion;
  return rest as Opinion;
}

/** Gemini lays the new input over the old one: a field that is left out would stay. */
function checkMerge(value: unknown, event: EventOf<"pre-tool-use">): void {
  const gone = Object.keys(event.input).filter((key) => !Object.hasOwn(value as object, key));
  if (gone.length > 0) throw unusable(event.event, `gemini cannot take '${gone.join("', '")}' out of the input`);
}

function checkResult(value: unknown, event: EventOf<"post-tool-use">, host: Host): void {
  if (value !== null && newOutput(value, event, host) === undefined) {
    throw unusable(event.event, `its new result has not the form of ${event.tool_name}'s results`);
  }
}

/** The new result in the form the host wants; undefined where there is no telling. */
function newOutput(value: unknown, event: EventOf<"post-tool-use">, host: Host): unknown {
  const given = typeof value === "object" && value !== null ? value as { content?: unknown; response?: unknown } : {};
  if (host === "gemini") {
    return typeof value === "string" ? value : typeof given.content === "string" ? given.content : undefined;
  }
  if (given.response !== undefined) return given.response;
  if (typeof value !== "string") return undefined;
  const { response } = event.result;
  if (typeof response === "string") return value;
  const shell = typeof response === "object" && response !== null && "stdout" in response;
  return shell ? { ...response, stdout: value, stderr: "" } : undefined;
}

/**
 * An end with an error prevents what the event is about, too. Claude Code would still run the tool, and codex takes no
 * such end there.
 */
function preventing(folded: Folded, event: AnyEvent, host: Host): Folded {
  const { abort, decision } = folded;
  const can = ability(event, host);
  if (!abort || decision === "deny" || !can("deny") || (can("halt") && event.event !== "pre-tool-use")) return folded;
  return { ...folded, decision: "deny", reason: abort.reason, modified: false };
}

/** Codex takes a refusal without words for none. */
function inWords(folded: Folded): Folded {
  if (folded.decision !== "deny" || folded.reason?.trim()) return folded;
  return { ...folded, reason: `Denied by hook ${folded.deniedBy ?? folded.abort?.hook}` };
}

/** What all was decided, in the words of the host. */
export function toHost(given: Folded, event: AnyEvent, host: Host, wireName: string): Served {
  const folded = inWords(preventing(given, event, host));
  const can = ability(event, host);
  const told = folded.abort ?? folded.halt;
  const end = can("halt") || !can("deny") ? told : undefined;
  const said = [...folded.contexts, ...folded.inputs].map(({ text }) => text);
  const texts = can("context") ? [...said] : [];
  // There a refusal would hide the result; here the result stays, and the reasons are read beside it.
  if (host === "gemini" && event.event === "post-tool-use" && folded.reason !== undefined) texts.unshift(folded.reason);
  // An end that the host may not heed is for the person to read.
  const unheeded = end !== undefined && !can("halt") && end.reason !== "" ? [end.reason] : [];
  const system = [...folded.systemMessages.map(({ text }) => text), ...unheeded].join("\n");
  const specific = {
    ...decision(folded, event, host),
    ...(texts.length > 0 && { additionalContext: texts.join("\n") }),
  };
  const output = {
    ...(end && { continue: false, ...(end.reason !== "" && { stopReason: end.reason }) }),
    ...(system !== "" && { systemMessage: system }),
    ...blocking(folded, event, host),
    ...(Object.keys(specific).length > 0 && { hookSpecificOutput: { hookEventName: wireName, ...specific } }),
  };
  const silent = Object.keys(output).length === 0;
  const lost = can("context") ? [] : said.map((text) => `Not told to the model, as ${host} cannot there: ${text}`);
  const stderr = [...folded.warnings, ...lost].map((line) => `${line}\n`).join("");
  return {
    stdout: silent ? "" : `${JSON.stringify(output)}\n`,
    stderr,
    // With any other code no host shows what stands on stderr.
    code: silent && stderr !== "" ? 1 : 0,
  };
}

/** Decisions that stand at the top of the object. */
function blocking(folded: Folded, event: AnyEvent, host: Host): Record<string, unknown> {
  const { decision, reason } = folded;
  if (host === "gemini") {
    if (event.event === "post-tool-use") {
      return folded.modified && folded.value !== null
        ? { decision: "deny", reason: newOutput(folded.value, event, host) }
        : {};
    }
    return decision === "deny" ? { decision, reason } : decision === "allow" ? { decision } : {};
  }
  const specific = ["pre-tool-use", "permission-request", "model-switch"].includes(event.event);
  return decision === "deny" && !specific ? { decision: "block", reason } : {};
}

/** Decisions that stand inside `hookSpecificOutput`. */
function decision(folded: Folded, event: AnyEvent, host: Host): Record<string, unknown> {
  const { decision, reason } = folded;
  const value = folded.modified ? folded.value : undefined;
  switch (event.event) {
    case "pre-tool-use":
    case "model-switch": {
      if (host === "gemini") return value === undefined ? {} : { tool_input: value };
      // Codex takes a new input only with a permission beside it.
      const permission = host === "codex" && value !== undefined && decision === "continue" ? "allow" : decision;
      return {
        ...(permission !== "continue" && { permissionDecision: permission }),
        ...(permission !== "continue" && reason !== undefined && { permissionDecisionReason: reason }),
        ...(value !== undefined && { updatedInput: value }),
      };
    }
    case "permission-request":
      if (decision === "deny") {
        const interrupt = host === "claude" && folded.abort !== undefined;
        return { decision: { behavior: "deny", message: reason, ...(interrupt && { interrupt }) } };
      }
      return decision === "allow"
        ? { decision: { behavior: "allow", ...(value !== undefined && { updatedInput: value }) } }
        : {};
    case "post-tool-use":
      return value === undefined || value === null || host === "gemini"
        ? {}
        : { updatedToolOutput: newOutput(value, event, host) };
    default:
      return {};
  }
}
