import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RunOptions } from "../../lib/agent/options.ts";
import { type Agent, agent, type AgentOptions, anthropic, type Result, tool } from "../../lib/index.ts";
import { STREAMED } from "../../lib/log/log-lines.ts";
import type { DriftReport } from "../../lib/replay/drift/drift-report.ts";
import type { TapeOptions } from "../../lib/replay/tape-options.ts";
import { readFiles } from "../../lib/replay/scratch.ts";
import { type ScriptedReply, scriptedServer, type ScriptEntry } from "../../lib/testing/index.ts";
import type { ScriptOptions } from "../../lib/models/scripted.ts";
import { put, scratch } from "../_scratch.ts";
import { removeTree } from "../../lib/files/tree.ts";
import "./_no-ci.ts";

/** A folder that goes away with the test. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  using folder = scratch();
  return await work(folder.path);
}

const SAYING = { type: "object", properties: { say: { type: "string" } }, required: ["say"] } as const;

/** Says again what it is told, and where it is. */
export const Look = tool<{ say: string }>({
  name: "Look",
  description: "Looks at something.",
  input: SAYING,
  effect: "read",
  run: ({ say }, { cwd }) => `${say} in ${cwd}`,
});

/** Changes a file. */
export const Note = tool<{ say: string }>({
  name: "Note",
  description: "Writes something down.",
  input: SAYING,
  effect: "write",
  run: ({ say }, { cwd }) => {
    const path = join(cwd, "notes.txt");
    const before = readFiles(cwd).get("notes.txt") ?? "";
    writeFileSync(path, `${before}${say}\n`);
    return { content: `noted in ${path}`, response: { path, lines: before.split("\n").length } };
  },
});

/** Replies that call them. */
const calling = (name: string, does: string) => (say: string): ScriptedReply => ({
  ...{ text: `I ${does} ${say}`, tools: [{ name, input: { say } }] },
});
export const look = calling("Look", "look at");
export const note = calling("Note", "note");

/** Throws what it is told. */
export const Fail = tool<{ say: string }>({
  name: "Fail",
  description: "Fails.",
  input: SAYING,
  effect: "read",
  run: ({ say }) => {
    throw new RangeError(say);
  },
});

export interface Told {
  readonly result: Result;
  readonly report: DriftReport | undefined;
  readonly files: ReadonlyMap<string, string>;
  /** But for what streams. */
  readonly events: readonly unknown[];
  readonly warnings: readonly string[];
}

export interface Take {
  readonly folder: string;
  readonly prompt?: string;
  readonly tape: TapeOptions;
  readonly run?: RunOptions;
  readonly files?: { readonly [path: string]: string };
  /** The workspace's name below the folder: two of one name have the same paths. @default "work" */
  readonly work?: string;
}

/** Runs an agent on a tape in a fresh workspace and gathers everything that came of it. */
export async function take(
  subject: Agent,
  { folder, prompt = "go", tape, run, files = {}, work = "work" }: Take,
): Promise<Told> {
  const cwd = join(folder, work);
  removeTree(cwd);
  mkdirSync(cwd, { recursive: true });
  put(cwd, files);
  const warnings: string[] = [];
  const events: unknown[] = [];
  let report: DriftReport | undefined;
  const result = await subject.run(prompt, {
    ...run,
    cwd,
    tape: { onReport: (found) => report = found, ...tape },
    on: (event) => {
      if (!STREAMED.has(event.type)) events.push(JSON.parse(JSON.stringify(event)));
      if (event.type === "warning") warnings.push(event.message);
      run?.on?.(event);
    },
  });
  return { result, report, files: readFiles(cwd), events: timeless(events), warnings };
}

/** The file of the tape in a fixture's folder. */
export function tapeIn(folder: string): string {
  return join(folder, "tape.jsonl");
}

export function readLines(path: string): any[] {
  return readFileSync(path, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
}

const TIMES = new Set(["at", "ms", "duration_ms", "wait_ms", "totalDurationMs"]);

/** A value without what depends on how fast things went. */
export function timeless<T>(value: T): T {
  if (Array.isArray(value)) return value.map(timeless) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([key]) => !TIMES.has(key)).map(([key, part]) => [key, timeless(part)]),
  ) as T;
}

/** Records a script through the SDK, against a server of this machine. */
export async function recordWire(
  options: AgentOptions,
  replies: readonly ScriptEntry[],
  given: Omit<Take, "tape"> & { readonly tape?: TapeOptions; readonly script?: ScriptOptions },
): Promise<Told> {
  await using server = await scriptedServer(replies, given.script);
  const model = anthropic({ baseURL: server.url, apiKey: "not-a-key" });
  return await take(agent({ ...options, model }), {
    ...given,
    tape: { path: given.folder, mode: "record", ...given.tape },
  });
}

/** An agent whose model must never be asked. */
export function offline(options: AgentOptions): Agent {
  return agent({ ...options, model: anthropic({ baseURL: "http://127.0.0.1:9", apiKey: "not-a-key", maxRetries: 2 }) });
}
