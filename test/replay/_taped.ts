import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { agent } from "../../lib/agent/agent.ts";
import type { AgentOptions } from "../../lib/agent/options.ts";
import { readTape } from "../../lib/replay/read-tape.ts";
import type { Tape } from "../../lib/log/tape.ts";
import { scripted, type ScriptEntry } from "../../lib/testing/index.ts";
import type { ScriptOptions } from "../../lib/models/scripted.ts";
import { scratch } from "../_scratch.ts";
import "./_no-ci.ts";

export interface Taping {
  readonly options: AgentOptions;
  readonly replies: readonly ScriptEntry[];
  readonly script?: ScriptOptions;
}

/** A run that was recorded just now in an empty workspace. Remove it when the tests are over. */
export interface Taped {
  readonly tape: Tape;
  /** What the workspace was at first: an empty folder. */
  readonly files: string;
  /** The file of the tape. */
  readonly path: string;
  readonly remove: () => void;
}

/** Records a run of an agent with a scripted model. */
export async function taped({ options, replies, script }: Taping): Promise<Taped> {
  const folder = scratch();
  const files = join(folder.path, "files"), workspace = join(folder.path, "workspace");
  const fixture = join(folder.path, "made");
  for (const dir of [files, workspace]) mkdirSync(dir);
  const { error } = await agent({ ...options, model: scripted(replies, script) }).run("Do it", {
    cwd: workspace,
    tape: { path: fixture, mode: "record" },
  });
  if (error) throw new Error(error.message);
  const path = join(fixture, "tape.jsonl");
  return { tape: await readTape(path), files, path, remove: () => folder[Symbol.dispose]() };
}
