/**
 * Records, replays and evaluates in a project that other processes use too, until its time is over, and prints what was
 * done and what it holds after a third of the time and at the end. Stops at the first thing that is lost or wrong.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import evaluate from "../../lib/extensions/eval/command.ts";
import type { Command } from "../../lib/cli/kit/io.ts";
import record from "../../lib/cli/record.ts";
import replay from "../../lib/cli/replay.ts";
import { type Left, left } from "./_left.ts";

const [name, cwd, home, seconds] = process.argv.slice(2) as [string, string, string, string];
/** Fixtures that a process keeps: older ones go, so that the disk does not grow. */
const KEPT = 5;

/** What is printed at the end. */
export interface Done {
  readonly recorded: number;
  readonly evaluated: number;
  /** The fixtures that must still be there. */
  readonly kept: readonly string[];
  readonly third: Left;
  readonly end: Left;
}

async function call(command: Command, ...args: string[]): Promise<string> {
  let said = "";
  const out = (text: string) => void (said += text);
  const env = { HOME: home, PATH: process.env.PATH };
  const code = await command(args, { out, err: out, tty: false, env, cwd, signal: new AbortController().signal });
  if (code !== 0) throw new Error(`Cannot go on as '${args.join(" ")}' of ${name} ended with ${code}: ${said}`);
  return said;
}

const kept: string[] = [];
let [recorded, evaluated] = [0, 0];

async function once(): Promise<void> {
  const fixture = `${name}-${recorded++}`;
  await call(record, "agent.ts", `go ${fixture}`, "--fixture", fixture);
  kept.push(fixture);
  const { items } = JSON.parse(await call(replay, ...kept, "--trust", "--json")) as { items: unknown[] };
  if (items.length !== kept.length) throw new Error(`Cannot go on as ${name} lost some of ${kept.join(" ")}`);
  if (recorded % 3 === 0) {
    await call(evaluate, fixture, "--runs", "2", "--at-once", "1", "--trust");
    evaluated++;
  }
  if (kept.length > KEPT) rmSync(join(cwd, "fixtures", kept.shift()!), { recursive: true });
}

/** So many rounds, and on until a time. */
async function until(rounds: number, time: number): Promise<void> {
  do await once(); while (recorded < rounds || Date.now() < time);
}

const begun = Date.now();
await until(12, begun + Number(seconds) * 333);
const third = await left();
await until(24, begun + Number(seconds) * 1000);
const done: Done = { recorded, evaluated, kept, third, end: await left() };
console.log(JSON.stringify(done));
