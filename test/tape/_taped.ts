import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, type AgentOptions } from "../../lib/agent.ts";
import { readTape } from "../../lib/tape/read.ts";
import type { Tape } from "../../lib/tape/tape.ts";
import "./_no-ci.ts";
import { scripted, type ScriptEntry, type ScriptOptions } from "../../lib/testing/index.ts";

export interface Taping {
  readonly options: AgentOptions;
  readonly replies: readonly ScriptEntry[];
  readonly script?: ScriptOptions;
  readonly prompt?: string;
  /** What is in the workspace. */
  readonly files?: { readonly [path: string]: string };
}

/** A run that was recorded just now, and the folder its workspace is copied from. Remove the folder. */
export interface Taped {
  readonly tape: Tape;
  readonly files: string;
  readonly path: string;
  readonly remove: () => void;
}

/** Records a run of an agent with a scripted model. */
export async function taped({ options, replies, script, prompt = "Do it", files = {} }: Taping): Promise<Taped> {
  const folder = mkdtempSync(join(tmpdir(), "crochet-taped-"));
  const [from, workspace, fixture] = ["files", "workspace", "made"].map((name) => join(folder, name));
  for (const dir of [from!, workspace!]) {
    mkdirSync(dir);
    for (const [path, text] of Object.entries(files)) writeFileSync(join(dir, path), text);
  }
  const { error } = await agent({ ...options, model: scripted(replies, script) }).run(prompt, {
    cwd: workspace!,
    tape: { path: fixture!, mode: "record" },
  });
  if (error) throw new Error(error.message);
  const path = join(fixture!, "tape.jsonl");
  return { tape: await readTape(path), files: from!, path, remove: () => rmSync(folder, { recursive: true }) };
}
