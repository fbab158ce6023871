import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ScriptedReply, scriptedServer } from "../../lib/testing/index.ts";
import { testData } from "../_data.ts";
import { LIB, OUR_RUNTIME } from "../_runtime.ts";
// @ts-ignore: plain JavaScript, which runs without us too
import { runDoors as run } from "../data/doors/run.mjs";

/** One way to open something, and what must be settled there. */
export interface DoorCase {
  readonly id: string;
  readonly decision: string;
  readonly steps: readonly { readonly pty?: unknown }[];
}

export const CASES: readonly DoorCase[] = JSON.parse(readFileSync(testData("doors/cases.json"), "utf8"));

interface Scenario {
  readonly turns: readonly (ScriptedReply & { readonly chunk?: number })[];
  readonly exhausted: ScriptedReply;
}

/** A server that answers with turns, then always with the same. */
async function startServer({ scenario: { turns, exhausted } }: { readonly scenario: Scenario }) {
  const server = await scriptedServer(turns.map(({ chunk: _, ...turn }) => turn), { then: () => exhausted });
  return { url: server.url, messages: () => server.requests, close: server.close };
}

/** Programs named `crochet` and `bun` that run on the runtime of these tests. */
function programs(folder: string): { readonly bin: string; readonly bun: string } {
  const [bin, bun] = [join(folder, "bin", "crochet"), join(folder, "bin", "bun")];
  const runtime = OUR_RUNTIME.map((word) => `'${word}'`).join(" ");
  mkdirSync(join(folder, "bin"), { recursive: true });
  writeFileSync(bin, `#!/bin/sh\nexec ${runtime} '${LIB}/cli/main.ts' "$@"\n`);
  writeFileSync(bun, `#!/bin/sh\n[ "$1" = run ] && shift\nexec ${runtime} "$@"\n`);
  for (const path of [bin, bun]) chmodSync(path, 0o755);
  return { bin, bun };
}

interface Row {
  readonly id: string;
  readonly ok: boolean;
  readonly why: string;
}

/** What comes of cases; `call` is how programs are called, if not as processes. */
export async function runDoors(cases: readonly DoorCase[], folder: string, call?: Call): Promise<Row[]> {
  return await run(cases, { ...programs(folder), lib: LIB, startServer, call });
}

/** Calls a program; `real` does it in a process. */
export type Call = (
  argv: readonly string[],
  given: { readonly cwd: string; readonly env: Record<string, string>; readonly input?: string },
  real: Call,
) => Promise<{ readonly code: number | null; readonly out: string; readonly err: string; readonly late: boolean }>;
