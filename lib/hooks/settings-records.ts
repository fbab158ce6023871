import { getOrMake } from "../core/maps.ts";
import { present } from "../core/json.ts";
import { type AnyEvent, type EventName, EVENTS } from "../core/events.ts";
import type { HookRecord } from "../core/hook.ts";
import type { ResolvedName } from "../core/names.ts";
import { matchesIf } from "../permissions/rules.ts";
import { commandHook, type HookKindParts } from "./command-hook.ts";
import { isAboutTool } from "./file/file-name.ts";
import { listedNames } from "./file/hook-record.ts";
import { type Handler, identityOf } from "./handler.ts";
import { httpHook } from "./http-hook.ts";
import { missing } from "./hook-matcher.ts";
import { inHostWords, speakerOf } from "./process/command-answer.ts";
import type { HookHost } from "./process/hook-host.ts";
import { wireInput } from "./process/wire.ts";
import { type PromptModel, promptRecord, withoutModel } from "./prompt-hook.ts";

/** A hook of a settings file before it is a record. */
export interface Draft {
  readonly name: string;
  readonly event: string;
  readonly on: ResolvedName;
  readonly matcher: string | undefined;
  readonly test: (value: string) => boolean;
  readonly handler: Handler;
  readonly source: string;
}

interface RecordOptions {
  readonly host: HookHost;
  readonly prompt: PromptModel;
  readonly enabled: boolean;
  /** Called once if there is no model for prompt hooks. */
  readonly warn: (message: string) => void;
}

export function recordsOf(drafts: readonly Draft[], options: RecordOptions): HookRecord[] {
  const records: HookRecord[] = [];
  const twins = new Map<string, HookRecord[]>();
  const end = endTimeout(drafts, options.host);
  for (const draft of drafts) {
    const key = `${draft.on.event} ${draft.on.scope} ${draft.on.outcome ?? ""} ${identityOf(draft.handler)}`;
    const before = getOrMake(twins, key, () => []);
    const timeout = draft.on.event === "session-end" ? end : draft.handler.timeout ?? defaultTimeout(draft);
    const record = recordOf(draft, timeout, [...before], options);
    before.push(record);
    records.push(record);
  }
  return records;
}

function recordOf(draft: Draft, timeout: number, twins: readonly HookRecord[], options: RecordOptions): HookRecord {
  const { name, on, matcher, test, handler, source } = draft;
  const onError = handler.onFailure === "block" && on.event !== "stop" ? "deny" : undefined;
  const misses = missesOf(missing(matcher, test), handler.if, twins, options.host);
  const record: HookRecord = {
    ...{ name, on: [on], misses, priority: 100, timeout, enabled: options.enabled, source },
    ...present({ matcher, onError, namedTools: isAboutTool(on.event) ? listedNames(matcher) : undefined }),
    mode: handler.type === "command" && handler.async ? "async" : "gate",
    ...kindOf(draft, timeout, options),
  };
  return handler.type === "prompt" ? { ...record, ...withoutModel(record, options.prompt, options.warn) } : record;
}

/** Why a hook does not apply: its matcher, its `if`, or that an identical one before it does. */
function missesOf(
  matcher: HookRecord["misses"],
  rule: string | undefined,
  twins: readonly HookRecord[],
  { projectDir }: HookHost,
): NonNullable<HookRecord["misses"]> {
  return (event) => {
    const why = matcher?.(event);
    if (why !== undefined) return why;
    if (rule !== undefined && "tool_name" in event) {
      const { tool_name, input } = event;
      if (!matchesIf(rule, { tool_name, input, cwd: projectDir })) return `its if '${rule}' does not match the call`;
    }
    const twin = twins.find((t) => t.enabled && t.misses!(event) === undefined);
    return twin && `it is the same hook as ${twin.name}, which runs`;
  };
}

/** Whether an event has one call: elsewhere an `if` has nothing to be compared with. */
export function hasCall(event: EventName): boolean {
  return EVENTS[event].match === "tool_name";
}

/** Seconds a hook has if it sets no limit, as in the host. */
export function defaultTimeout({ handler, on }: Pick<Draft, "handler" | "on">): number {
  if (handler.type === "prompt" || on.event === "user-prompt-submit" || on.event === "model-switch") return 30;
  return 600;
}

const END_SECONDS = 1.5;
const LONGEST_END_SECONDS = 60;

/** The end of a session is not held up for long, unless a hook or the environment asks for more. */
function endTimeout(drafts: readonly Draft[], host: HookHost): number {
  const given = Number((host.env ?? process.env).CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS);
  if (given > 0) return given / 1000;
  const asked = drafts.filter((d) => d.on.event === "session-end").map((d) => d.handler.timeout ?? 0);
  return Math.min(LONGEST_END_SECONDS, Math.max(END_SECONDS, ...asked));
}

const BLOCKING = 'onFailure is "block"';

function kindOf({ name, event, handler }: Draft, timeout: number, { host, prompt }: RecordOptions): HookKindParts {
  const common = { registered: event, blocking: BLOCKING };
  switch (handler.type) {
    case "command": {
      const { command, args, async, asyncRewake: rewake } = handler;
      return commandHook({ name, command, args, async, rewake, timeout, ...common }, host);
    }
    case "http": {
      const { url, headers, allowedEnvVars } = handler;
      return httpHook({ url, headers, allowedEnvVars, ...common }, host);
    }
    case "prompt":
      return promptParts(handler, event, host, prompt);
  }
}

/** A prompt in the host's way: `$ARGUMENTS` is the event as a command would read it, and a no ends the loop. */
function promptParts(
  handler: Handler & { type: "prompt" },
  registered: string,
  host: HookHost,
  by: PromptModel,
): HookKindParts {
  const wire = (event: AnyEvent) => JSON.stringify(wireInput(event, host.projectDir, host.wire?.(event), registered));
  const source = handler.prompt.includes("$ARGUMENTS") ? handler.prompt : `${handler.prompt}\n\n$ARGUMENTS`;
  const render = (event: AnyEvent) => source.replaceAll("$ARGUMENTS", () => wire(event));
  const template = { source, render, shows: (event: AnyEvent) => [wire(event)], warnings: [] };
  const parts = promptRecord(template, by, { modelName: handler.model, cache: false });
  return {
    ...parts,
    read: (raw, event) => {
      const opinion = parts.read(raw, event);
      if (opinion.decision !== "deny") return opinion;
      const ends = hasCall(event.event) && handler.continueOnBlock !== true;
      const reason = `[${handler.prompt}]: ${opinion.reason}`;
      const denied = { ...opinion, reason, ...(ends && { halt: opinion.reason ?? "" }) };
      return inHostWords(denied, speakerOf(event, { command: handler.prompt, registered }), { exit: true });
    },
  };
}
