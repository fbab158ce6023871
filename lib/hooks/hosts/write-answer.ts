import { type AnyEvent, EVENTS } from "../../core/events.ts";
import type { Folded } from "../../core/fold.ts";
import { type Opinion, unusable } from "../../core/verdict.ts";
import type { Ability, Host } from "./host.ts";

/** What a served hook writes, and its exit code. */
export interface Served {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

function ability({ event }: AnyEvent, { events }: Host): (what: Ability) => boolean {
  const { can = [] } = Object.values(events).find(({ ours }) => ours?.includes(event)) ?? {};
  return (what) => can.includes(what);
}

/** The opinion as the host can carry it out: what it cannot do becomes a refusal or a failure, and is never dropped. */
export function fitting(opinion: Opinion, event: AnyEvent, host: Host, isAttended = () => true): Opinion {
  const can = ability(event, host);
  const cannot = (what: string) => unusable(event.event, `${host.name} cannot ${what} there`);
  let fit = opinion;
  if (fit.decision === "ask" && !(can("ask") && (!host.answers.asksAtTerminal || isAttended()))) {
    const reason = `A person has to decide, but ${host.name} asks no one there: ${fit.reason ?? "no reason"}`;
    fit = { ...fit, decision: "deny", reason };
  }
  // The host then asks as usual.
  if (fit.decision === "allow" && !can("allow")) fit = without(fit, "decision");
  if (fit.halt !== undefined && !can("halt") && event.event !== "session-start") {
    if (!can("deny")) throw cannot("end the run");
    fit = without({ ...fit, decision: "deny", reason: fit.reason || fit.halt || "The run is to end here" }, "halt");
  }
  // A refusal of what has already happened gets its warning when answers are folded.
  if (fit.decision === "deny" && !can("deny") && EVENTS[event.event].deny !== "ignored") {
    throw cannot("refuse anything");
  }
  if (fit.value && fit.decision !== "deny") {
    if (!can("modify")) throw cannot("rewrite anything");
    checkValue(fit.value.to, event, host);
  }
  if (fit.contexts?.length && !can("context")) {
    if (fit.decision !== "deny") throw cannot("pass text to the model");
    const said = fit.contexts.map((c) => c.text).join("\n");
    // An empty text means that the reason is already made of the contexts.
    fit = without(fit.text === "" ? fit : { ...fit, reason: `${fit.reason ?? ""}\n${said}`.trim() }, "contexts");
  }
  return fit;
}

function without<K extends keyof Opinion>(opinion: Opinion, key: K): Opinion {
  const { [key]: _, ...rest } = opinion;
  return rest as Opinion;
}

/** @throws {Error} if the host cannot put the new value in the place of the old one */
function checkValue(value: unknown, event: AnyEvent, host: Host): void {
  const { answers, newResult } = host;
  if (event.event === "post-tool-use") {
    if (value === null || newResult(value, event) !== undefined) return;
    throw unusable(event.event, `its new result does not have the form of ${event.tool_name}'s results`);
  }
  if (event.event !== "pre-tool-use" && event.event !== "permission-request") return;
  if (typeof value !== "object" || value === null) throw unusable(event.event, "its new input is not an object");
  if (!answers.mergesInput || event.event !== "pre-tool-use") return;
  const gone = Object.keys(event.input).filter((key) => !Object.hasOwn(value, key));
  if (gone.length > 0) throw unusable(event.event, `${host.name} cannot remove '${gone.join("', '")}' from the input`);
}

/** `ctx.abort()` prevents what the event is about too: Claude Code would still run the tool, and Codex ignores it there. */
function preventing(folded: Folded, event: AnyEvent, host: Host): Folded {
  const { decision } = folded;
  const can = ability(event, host);
  // A permission has no other end of the run than a refusal.
  const end = folded.abort ?? (event.event === "permission-request" ? folded.halt : undefined);
  const isCall = event.event === "pre-tool-use" || event.event === "permission-request";
  if (!end || decision === "deny" || !can("deny") || (can("halt") && !isCall)) return folded;
  return { ...folded, decision: "deny", reason: end.reason, modified: false };
}

/** Codex ignores a refusal without a reason. */
function withReason(folded: Folded): Folded {
  if (folded.decision !== "deny" || folded.reason?.trim()) return folded;
  return { ...folded, reason: `Denied by hook ${folded.deniedBy ?? folded.abort?.hook}` };
}

export function writeAnswer(given: Folded, event: AnyEvent, host: Host, wireName: string): Served {
  const { answers, decided, events } = host;
  const { refusesBy, prints } = events[wireName] ?? {};
  const folded = withReason(preventing(given, event, host));
  const can = ability(event, host);
  if (refusesBy !== undefined && folded.decision === "deny") {
    return { stdout: "", stderr: `${folded.reason}\n`, code: refusesBy };
  }
  if (prints && folded.modified) return { stdout: `${folded.value}\n`, stderr: "", code: 0 };
  const end = can("halt") || !can("deny") ? folded.abort ?? folded.halt : undefined;
  const said = [...folded.contexts, ...folded.inputs].map(({ text }) => text);
  const texts = can("context") ? [...said] : [];
  if (answers.hidesResult && event.event === "post-tool-use" && folded.reason !== undefined) {
    texts.unshift(folded.reason);
  }
  // If the host may ignore the end of the run, the user should see it.
  const ignored = end !== undefined && !can("halt") && end.reason !== "" ? [end.reason] : [];
  const system = [...folded.systemMessages.map(({ text }) => text), ...ignored].join("\n");
  const { top, specific, ends } = decided(folded, event);
  const context = texts.length > 0 && { [answers.contextAtTop ?? "additionalContext"]: texts.join("\n") };
  const inside = { ...specific, ...(answers.contextAtTop === undefined && context) };
  const output = {
    ...(end && !ends && { continue: false, ...(end.reason !== "" && { stopReason: end.reason }) }),
    ...(system !== "" && { systemMessage: system }),
    ...top,
    ...(answers.contextAtTop !== undefined && context),
    ...(Object.keys(inside).length > 0 && { hookSpecificOutput: { hookEventName: wireName, ...inside } }),
  };
  const silent = Object.keys(output).length === 0;
  const lost = can("context") ? [] : said.map((text) => `${host.name} cannot pass this to the model there: ${text}`);
  const stderr = [...folded.warnings, ...lost].map((line) => `${line}\n`).join("");
  return {
    stdout: silent ? "" : `${JSON.stringify(output)}\n`,
    stderr,
    // Hosts show stderr only for exit code 1.
    code: silent && stderr !== "" ? 1 : 0,
  };
}
