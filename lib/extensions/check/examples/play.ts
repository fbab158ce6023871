import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, normalize } from "node:path";
import type { EventName } from "../../../core/events.ts";
import { kebab, pascal, resolveEvent } from "../../../core/names.ts";
import { nearest } from "../../../input/nearest.ts";
import type { HookFile } from "../../../hooks/discover.ts";
import { sampleEvent } from "../../../hooks/samples.ts";
import type { Lane } from "../hook-lane.ts";
import { removeTree, writeFiles } from "../../../files/tree.ts";
import { checkedEnv, type Surroundings } from "../scratch-project.ts";
import type { Question } from "../subject.ts";
import type { Example, ExampleFiles } from "./example.ts";
import { leftOtherwise, mismatch } from "../../../testing/expectation.ts";
import type { JsonObject } from "../../../core/json.ts";

export interface ExampleResult {
  readonly hook: string;
  readonly name: string;
  /** The file, and which of its examples this is. */
  readonly where: string;
  readonly ok: boolean;
  /** What was expected, and what came instead. */
  readonly why?: string;
  readonly event: { readonly [field: string]: unknown };
}

/** Plays one example: its project, what came before, its event, its fix. */
export async function playExample(example: Example, file: HookFile, lane: Lane, limit: number): Promise<ExampleResult> {
  const { after, expect, given, fix, leaves, name, where, says } = example;
  const several = after.length > 0 || fix !== undefined;
  const fill = (fields: Example["event"]) => fillEvent(fields, file, lane.place.project);
  const ask = (event: Question["event"]) =>
    lane.ask({ event, limit, keep: several || leaves !== undefined, ...(says !== undefined && { says }) });
  let event: ExampleResult["event"] = example.event;
  const ended = (why: string | undefined): ExampleResult => ({
    ...{ hook: file.name, name, where, ok: why === undefined, ...(why !== undefined && { why }) },
    event,
  });
  if (several) lane.restart();
  // From here on it knows the state of the project that it goes back to.
  await lane.open();
  try {
    if (given !== undefined) arrange(given, lane.place);
    for (const earlier of after) await ask(fill(earlier));
    event = fill(example.event);
    const left = (path: string) => {
      const file = insideOf(lane.place, path);
      return statSync(file, { throwIfNoEntry: false })?.isFile() ? readFileSync(file, "utf8") : undefined;
    };
    const why = mismatch(expect, await ask(event)) ?? (leaves && leftOtherwise(leaves, left));
    if (why !== undefined || fix === undefined) return ended(why);
    arrange(fix, lane.place);
    // At the next stop the agent has been sent back once.
    const next = file.on.event === "stop" ? { ...example.event, stop_hook_active: true } : example.event;
    const again = mismatch({ action: "continue" }, await ask(fill(next)));
    return ended(again === undefined ? undefined : `${again} (after its fix)`);
  } catch (error) {
    if (error instanceof TypeError) return ended(`Cannot play the example: ${error.message}`);
    throw error;
  } finally {
    lane.restore();
  }
}

/** Makes the project so. @throws {TypeError} with the reason */
export function arrange(workspace: ExampleFiles, place: Surroundings): void {
  if (typeof workspace === "string") return runLine(workspace, place);
  for (const [path, text] of Object.entries(workspace)) {
    const file = insideOf(place, path);
    try {
      if (text === null) removeTree(file);
      else writeFiles(dirname(file), [[basename(file), text]]);
    } catch (error) {
      throw new TypeError(`'${path}' cannot be put into the project: ${(error as Error).message}`);
    }
  }
}

/** @throws {TypeError} for a path that leads out of the project */
function insideOf({ project }: Surroundings, path: string): string {
  const inside = normalize(path);
  if (!inside.startsWith("..") && !inside.startsWith("/")) return join(project, inside);
  throw new TypeError(`'${path}' is outside the project: name files in it`);
}

function runLine(line: string, place: Surroundings): void {
  const { status, signal, stderr } = spawnSync("/bin/sh", ["-c", line], {
    cwd: place.project,
    env: checkedEnv(place, process.env, {}),
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
  });
  if (status === 0) return;
  const said = stderr.trim().split("\n").at(-1);
  throw new TypeError(`'${line}' ended with ${signal ?? `code ${status}`}${said && `: ${said}`}`);
}

/** Other names for fields of ours, from the wire and from rules. */
const ALIASES: { readonly [field: string]: string } = {
  tool: "tool_name",
  tool_input: "input",
  args: "input",
  custom_instructions: "instructions",
  from_model: "old_model",
  to_model: "new_model",
};

/** What the wire has around an event's own fields: an example may carry it, and it changes nothing. */
const AROUND = ["transcript_path", "cwd", "prompt_id", "permission_mode", "effort", "mcp_server", "is_interrupt"];

/** What tells one event from another; an example may set it. */
const STAMPED = ["session_id", "agent_id", "parent_agent_id", "agent_type", "turn_id", "timestamp", "event_id"];

/** An event of ours from the fields of an example. @throws {TypeError} for a field that it does not have */
export function fillEvent(
  given: JsonObject,
  { on, tools: [tool] }: Pick<HookFile, "on" | "tools">,
  cwd: string,
): JsonObject {
  const { event: named = given.hook_event_name, hook_event_name: _, ...rest } = given;
  const moment = typeof named === "string" ? resolveEvent(named)! : on;
  const called = rest.tool_name ?? rest.tool ?? tool;
  const failed = moment.outcome === "failure" || (moment.event === "post-tool-use" && typeof rest.error === "string");
  const about = { cwd, tool: typeof called === "string" ? called : undefined, failed };
  const sample = sampleEvent(moment.event, about) as unknown as JsonObject;
  const fields = Object.fromEntries(
    Object.entries(rest).map(([field, value]) => [ALIASES[field] ?? kebab(field).replaceAll("-", "_"), value]),
  );
  const { tool_response, ...own } = fields;
  for (const field of Object.keys(own)) check(field, moment.event, sample);
  const input = inputOf(own.input, sample.input as JsonObject | undefined, cwd);
  const sub = moment.scope === "sub" ? { parent_agent_id: "sample-session", agent_id: "sample-agent" } : {};
  return {
    session_id: "sample-session",
    agent_id: "sample-session",
    turn_id: "sample-turn",
    ...sample,
    ...sub,
    ...own,
    ...(input && { input, original_input: own.original_input ?? input }),
    ...outcome(own, tool_response, sample),
    ...stopCounts(own, sample),
  };
}

function check(field: string, event: EventName, sample: JsonObject): void {
  const known = [...Object.keys(sample), ...STAMPED, ...AROUND];
  if (known.includes(field)) return;
  const meant = nearest(field, [...known, ...Object.keys(ALIASES).filter((name) => known.includes(ALIASES[name]!))]);
  throw new TypeError(`'${field}' is not a field of ${pascal(event)}: did you mean '${meant}'?`);
}

function inputOf(given: unknown, usual: JsonObject | undefined, cwd: string): JsonObject | undefined {
  if (usual === undefined) return undefined;
  if (given !== undefined && (typeof given !== "object" || given === null)) {
    throw new TypeError(`its input is ${JSON.stringify(given)}: expected an object`);
  }
  const input = Object.entries({ ...usual, ...given as JsonObject | undefined }).filter(([, value]) =>
    value !== undefined
  );
  return Object.fromEntries(input.map(([field, value]) => {
    const isPath = (field === "file_path" || field === "notebook_path") && typeof value === "string";
    return [field, isPath && !isAbsolute(value) ? join(cwd, value) : value];
  }));
}

/** A call that has an error has failed; what it gave back can be said in one text. */
function outcome(own: JsonObject, response: unknown, sample: JsonObject): JsonObject {
  if (sample.event !== "post-tool-use") return {};
  const { error = sample.error, result = sample.result } = own;
  const failed = typeof error === "string";
  const given = typeof result === "string"
    ? { content: result, is_error: failed, response: result }
    : result as JsonObject;
  const said = typeof response === "string" ? { content: response } : {};
  return {
    failed,
    error,
    outcome: failed ? "failure" : "success",
    result: {
      ...given,
      ...(response !== undefined && { response, ...said }),
      ...(failed && { content: error, is_error: true }),
    },
  };
}

/** Fields of a stop that depend on each other: an agent that was sent back was sent back once, and used no tool since. */
function stopCounts(own: JsonObject, { event, remaining: most }: JsonObject): JsonObject {
  if (event !== "stop") return {};
  const { stop_hook_active = Number(own.continuations ?? 0) > 0 } = own;
  const { stalled = own.continuations === undefined && stop_hook_active === true ? 1 : 0 } = own;
  const { continuations = stop_hook_active === true ? Math.max(1, Number(stalled)) : 0 } = own;
  const { remaining = Number(most) - Number(stalled) } = own;
  return { stop_hook_active, continuations, stalled, remaining };
}
