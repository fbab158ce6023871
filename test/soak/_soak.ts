/**
 * Runs an agent again and again in one process, then one agent for many turns, and prints what was left behind:
 * memory after the first half and at the end, open files, child processes. Ends by itself where nothing holds it.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, jsonlStore, type Model } from "../../lib/index.ts";
import { scripted } from "../../lib/testing/index.ts";
import { Bash, Edit, Read } from "../../lib/tools/index.ts";
import { type Left, left } from "./_left.ts";

const [runs, turns] = process.argv.slice(2).map(Number) as [number, number];
const cwd = mkdtempSync(join(tmpdir(), "crochet-soak-"));
writeFileSync(join(cwd, "note.txt"), "one two three\n");

/** What is printed at the end. */
export interface Report {
  readonly start: Left;
  readonly many: { readonly half: Left; readonly end: Left };
  readonly long: { readonly half: Left; readonly end: Left };
  readonly over: Left;
}

/** One run: reads, edits there and back, now and then a command, and a Stop hook that sends back once. */
async function once(i: number): Promise<void> {
  const edit = (old_string: string, new_string: string) => ({
    name: "Edit",
    input: { file_path: "note.txt", old_string, new_string },
  });
  const command = i % 50 === 0 ? [{ tools: [{ name: "Bash", input: { command: "cat note.txt" } }] }] : [];
  const model = scripted([
    { tools: [{ name: "Read", input: { file_path: "note.txt" } }] },
    { tools: [edit("two", "2")] },
    { tools: [edit("2", "two")] },
    ...command,
    { text: "done" },
    { text: "tested" },
  ]);
  const worker = agent({
    model,
    cwd,
    tools: [Read, Edit, Bash],
    store: jsonlStore(join(cwd, "runs")),
    hooks: {
      preToolUse: () => undefined,
      stop: ({ stop_hook_active }) => stop_hook_active ? undefined : { action: "deny", reason: "Say what you tested" },
    },
  });
  const { stop, id } = await worker.run("go");
  if (stop !== "done") throw new Error(`Cannot go on as run ${i} ended with ${stop}`);
  rmSync(join(cwd, "runs", `${id}.jsonl`), { force: true });
}

async function manyRuns(): Promise<Report["many"]> {
  for (let i = 0; i < runs / 2; i++) await once(i);
  const half = await left();
  for (let i = runs / 2; i < runs; i++) await once(i);
  return { half, end: await left() };
}

/** One session of many turns; what it holds is its conversation, so the cost of a turn is compared, not the whole. */
async function manyTurns(): Promise<Report["long"]> {
  let half: Left | undefined;
  // A new one for each call: it keeps what it was asked, and that would be what grows.
  const model: Model = (...asked) => scripted([{ text: "y".repeat(64) }])(...asked);
  const worker = agent({ model, limits: { iterations: Infinity } });
  const session = await worker.open();
  for (let i = 0; i < turns; i++) {
    const { stop } = await session.prompt(`turn ${i}`);
    if (stop !== "done") throw new Error(`Cannot go on as turn ${i} ended with ${stop}`);
    if (i === Math.floor(turns / 2)) half = await left();
  }
  const end = await left();
  await session.close();
  return { half: half!, end };
}

const start = await left();
const many = await manyRuns();
const long = await manyTurns();
rmSync(cwd, { recursive: true });
const report: Report = { start, many, long, over: await left() };
console.log(JSON.stringify(report));
