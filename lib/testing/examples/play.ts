import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import type { HookFile } from "../../hooks/discover.ts";
import type { Probed, Question } from "../check/ask-protocol.ts";
import { hookEnv, type Place } from "../check/place.ts";
import type { Example, Workspace } from "./example.ts";
import { mismatch } from "./expectation.ts";
import { fillEvent } from "./fill.ts";

/** The result of one example. */
export interface ExampleResult {
  readonly hook: string;
  readonly name: string;
  /** The file, and which of its examples this is. */
  readonly where: string;
  readonly ok: boolean;
  /** What was expected, and what came instead. */
  readonly why?: string;
  /** The whole event that was asked about. */
  readonly event: { readonly [field: string]: unknown };
}

/** What examples are played to: a hook in a workspace of its own. */
interface Playable {
  readonly place: Place;
  ask(question: Question): Promise<Probed>;
  /** Puts the workspace back. */
  restore(): void | Promise<void>;
  /** As `restore`, and the hook remembers nothing. */
  restart(): void | Promise<void>;
}

/** Plays one example: its project, what came before, its event, its fix. */
export async function playExample(
  example: Example,
  file: HookFile,
  lane: Playable,
  limit: number,
): Promise<ExampleResult> {
  const { after, expect, given, fix, name, where, says } = example;
  const several = after.length > 0 || fix !== undefined;
  const fill = (fields: Example["event"]) =>
    fillEvent(fields, { cwd: lane.place.project, on: file.on, tool: file.tools[0] });
  const ask = (event: Question["event"]) =>
    lane.ask({ event, limit, keep: several, ...(says !== undefined && { says }) });
  let event: ExampleResult["event"] = example.event;
  const ended = (why: string | undefined): ExampleResult => ({
    hook: file.name,
    name,
    where,
    ok: why === undefined,
    ...(why !== undefined && { why }),
    event,
  });
  if (several) await lane.restart();
  try {
    if (given !== undefined) arrange(given, lane.place);
    for (const earlier of after) await ask(fill(earlier));
    event = fill(example.event);
    const why = mismatch(expect, await ask(event));
    if (why !== undefined || fix === undefined) return ended(why);
    arrange(fix, lane.place);
    const again = mismatch({ action: "continue" }, await ask(fill(sentBack(example.event, file))));
    return ended(again === undefined ? undefined : `${again} (after its fix)`);
  } catch (error) {
    if (error instanceof TypeError) return ended(`Cannot play the example: ${error.message}`);
    throw error;
  } finally {
    await lane.restore();
  }
}

/** At the next stop the agent has been sent back once. */
function sentBack(fields: Example["event"], { on }: HookFile): Example["event"] {
  return on.event === "stop" ? { ...fields, stop_hook_active: true } : fields;
}

/**
 * Makes the project so.
 *
 * @throws {TypeError} with the reason
 */
export function arrange(workspace: Workspace, place: Place): void {
  if (typeof workspace === "string") return runLine(workspace, place);
  for (const [path, text] of Object.entries(workspace)) {
    const inside = normalize(path);
    if (inside.startsWith("..") || inside.startsWith("/")) {
      throw new TypeError(`'${path}' is outside the project: name files in it`);
    }
    try {
      putFile(join(place.project, inside), text);
    } catch (error) {
      throw new TypeError(`'${path}' cannot be put into the project: ${(error as Error).message}`);
    }
  }
}

function putFile(path: string, text: string | null): void {
  if (text === null) return rmSync(path, { recursive: true, force: true });
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function runLine(line: string, place: Place): void {
  const { status, signal, stderr } = spawnSync("/bin/sh", ["-c", line], {
    cwd: place.project,
    env: hookEnv(place, process.env, {}),
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
  });
  if (status === 0) return;
  const said = stderr.trim().split("\n").at(-1);
  throw new TypeError(`'${line}' ended with ${signal ?? `code ${status}`}${said && `: ${said}`}`);
}
