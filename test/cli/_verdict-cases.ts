import assert from "node:assert/strict";
import { chmodSync, cpSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { scriptedServer } from "../../lib/testing/index.ts";
import { crochet } from "../_crochet.ts";
import { testData } from "../_data.ts";
import { put, scratch } from "../_scratch.ts";
import { LIB } from "../_runtime.ts";

interface Base {
  readonly files: Readonly<Record<string, string>>;
  readonly record?: readonly string[];
  /** What a scripted server answers while it is recorded. */
  readonly server?: string;
}

type Change =
  | { readonly op: "write"; readonly path: string; readonly text: string; readonly mode?: string }
  | { readonly op: "replace"; readonly path: string; readonly from: string; readonly to: string }
  | { readonly op: "delete"; readonly path: string };

/** A change of a project, and what a command that judges it must say. */
export interface VerdictCase {
  readonly name: string;
  readonly base: string;
  readonly change: readonly Change[];
  readonly run: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly word: string;
  readonly exit: number;
  readonly says?: string;
  readonly not?: string;
}

const BASES: Readonly<Record<string, Base>> = JSON.parse(readFileSync(testData("verdict/bases.json"), "utf8"));

export const CASES: readonly VerdictCase[] = readFileSync(testData("verdict/cases.jsonl"), "utf8").trim().split("\n")
  .map((line) => JSON.parse(line));

/** Projects as they were recorded, made when a case asks for one: `using bases = new Bases()`. */
export class Bases implements Disposable {
  readonly #made = new Map<string, ReturnType<typeof made>>();
  readonly #folder = scratch();

  async copyOf(base: string, to: string): Promise<void> {
    const path = join(this.#folder.path, base);
    if (!this.#made.has(base)) this.#made.set(base, made(base, path));
    await this.#made.get(base);
    cpSync(path, to, { recursive: true });
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]();
  }
}

async function made(name: string, path: string): Promise<void> {
  const { files, record, server } = BASES[name]!;
  const texts = Object.entries(files).map(([file, text]) => [file, text.replaceAll("{LIB}", LIB)]);
  put(path, { ".keep": "", ...Object.fromEntries(texts) });
  if (!record) return;
  await using api = await scriptedServer([{ text: server ?? "" }]);
  const env = server === undefined ? {} : { ANTHROPIC_BASE_URL: api.url, ANTHROPIC_API_KEY: "none" };
  const done = await crochet(record, { cwd: path, env: { HOME: dirname(path), ...env } });
  assert.equal(done.code, 0, done.out + done.err);
}

function change(cwd: string, one: Change): void {
  const path = join(cwd, one.path);
  if (one.op === "delete") return rmSync(path);
  if (one.op === "write") put(cwd, { [one.path]: one.text.replaceAll("{LIB}", LIB) });
  else {
    const text = readFileSync(path, "utf8");
    assert.ok(text.includes(one.from), `${one.path} has no ${one.from}`);
    put(cwd, { [one.path]: text.replace(one.from, () => one.to) });
  }
  if (one.op === "write" && one.mode !== undefined) chmodSync(path, parseInt(one.mode, 8));
}

/** Makes the changes of a case, runs its command, and compares what it says. */
export async function expectVerdict(given: VerdictCase, bases: Bases): Promise<void> {
  using folder = scratch();
  const cwd = join(folder.path, "project");
  await bases.copyOf(given.base, cwd);
  for (const one of given.change) change(cwd, one);
  const env = Object.fromEntries(
    Object.entries(given.env ?? {}).map(([name, text]) => [name, text.replaceAll("{HERE}", cwd)]),
  );
  const { code, out, err } = await crochet(given.run, { cwd, env: { HOME: folder.path, ...env } });
  const printed = `${out}${err}`;
  assert.equal(code, given.exit, printed);
  assert.match(printed, new RegExp(`^(${given.word}|crochet): `, "m"));
  if (given.says !== undefined) assert.match(printed, new RegExp(given.says));
  if (given.not !== undefined) assert.doesNotMatch(printed, new RegExp(given.not));
  const at = given.run.indexOf("--junit");
  if (at >= 0) assert.match(readFileSync(join(cwd, given.run[at + 1]!), "utf8"), /failures="1"/);
}
