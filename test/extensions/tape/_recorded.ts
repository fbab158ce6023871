import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { scriptedServer } from "../../../lib/testing/index.ts";
import { OUR_RUNTIME } from "../../_runtime.ts";
import { crochet } from "../../_crochet.ts";
import { put, scratch } from "../../_scratch.ts";

/** A command as a tape has it, which no settings follow yet. */
const BARE = `"deno","test","-A","--preload"`;

/** Has a tape name the command with the settings of this clone; gives whether it did not. */
function withSettings(tape: string): boolean {
  const text = readFileSync(tape, "utf8");
  const own = ["deno", ...RUNNER.slice(1, -2)].map((one) => JSON.stringify(one)).join();
  writeFileSync(tape, text.replace(BARE, own));
  return text.includes(BARE);
}

const lib = (path: string) => fileURLToPath(new URL(`../../../lib/${path}`, import.meta.url));
const PRELOAD = ["--preload", lib("extensions/tape/preload.ts"), "greet.test.mjs"];
/** `bun test` or `deno test`, as these tests run. */
export const RUNNER: readonly [string, ...string[]] = "Deno" in globalThis
  ? [OUR_RUNTIME[0], "test", ...OUR_RUNTIME.slice(2), ...PRELOAD]
  : [OUR_RUNTIME[0], "test", ...PRELOAD];

/** What an SDK does: it reads where its API is as soon as it is loaded. */
const CLIENT = `
const BASE = process.env.ANTHROPIC_BASE_URL ?? "http://127.0.0.1:9";
export async function ask(text) {
  const headers = { "content-type": "application/json", "x-api-key": process.env.ANTHROPIC_API_KEY, "anthropic-version": "2023-06-01" };
  const body = JSON.stringify({ model: "m", max_tokens: 9, ...process.env.TONE && { system: process.env.TONE }, messages: [{ role: "user", content: text }] });
  const response = await fetch(BASE + "/v1/messages", { method: "POST", headers, body });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error.message);
  return answer.content[0].text;
}
`;

/** Not all of `crochet/testing`, which each process would load. */
const ONLY_RECORDED = `import { recorded } from ${JSON.stringify(lib("extensions/tape/recorded.ts"))};`;
export const OF_AN_AGENT = `import { replay, scripted } from ${JSON.stringify(lib("testing/index.ts"))};
import { agent } from ${JSON.stringify(lib("index.ts"))};`;

/** A project whose test asks what it is given, and its runs: `bun test`, `deno test`. */
export async function project(body: string, imports = ONLY_RECORDED) {
  const api = await scriptedServer([], {
    then: ({ messages }) => ({ text: `to ${JSON.stringify(messages.at(-1)!.content)}` }),
  });
  const folder = scratch({
    "client.mjs": CLIENT,
    "greet.test.mjs": `
import { test } from "node:test";
${imports}
import { ask } from "./client.mjs";
const { TEXT = "hi" } = process.env;
test("it greets", async () => {
  ${body}
});
`,
  });
  /** Where it is written that its tests are trusted. */
  const state = { CROCHET_HOME: join(folder.path, ".state") };
  const run = (given: { [name: string]: string } = {}) => {
    const { ANTHROPIC_API_KEY: _, CI: _ci, CROCHET_RECORD: _record, ...rest } = process.env;
    const env = { ...rest, ANTHROPIC_BASE_URL: api.url, ...state, ...given };
    return new Promise<{ ok: boolean; said: string; asked: number }>((resolve) => {
      const before = api.requests.length;
      execFile(
        RUNNER[0],
        RUNNER.slice(1),
        { cwd: folder.path, env, timeout: 300_000 },
        (error, stdout, stderr) =>
          resolve({ ok: error === null, said: stdout + stderr, asked: api.requests.length - before }),
      );
    });
  };
  const tape = (name = "greets") => join(folder.path, `fixtures/${name}/tape.jsonl`);
  return {
    run,
    cwd: folder.path,
    put: (files: Readonly<Record<string, string>>) => put(folder.path, files),
    /** The command line in it, which Deno's tests need settings for that no project has. */
    crochet: async (args: readonly string[], env: { [name: string]: string } = {}, stdin = "") => {
      const asked = { cwd: folder.path, env: { ...state, ...env }, stdin };
      const bare = "Deno" in globalThis
        ? readdirSync(join(folder.path, "fixtures")).filter((name) => withSettings(tape(name)))
        : [];
      if (bare.length > 0) await crochet(["trust"], asked);
      return await crochet(args, asked);
    },
    url: api.url,
    tape,
    text: () => readFileSync(tape(), "utf8"),
    async [Symbol.asyncDispose]() {
      folder[Symbol.dispose]();
      await api.close();
    },
  };
}

export const GREETS = `await recorded("greets", async () => {
    const said = await ask(TEXT);
    if (!said.includes(TEXT)) throw new Error("it says " + said);
    if (process.env.FAIL) throw new Error("the body failed");
  });`;
export const RECORD = { CROCHET_RECORD: "1" };

/** Two fixtures of one test file, one of which may be left out, and a test that may fail. */
const TWO = `await recorded("sun", () => ask("sun? " + TEXT));
});
test("it rains", { skip: process.env.ONLY !== undefined }, async () => {
  await recorded("rain", () => ask("rain? " + TEXT));
});
test("it ends", async () => {
  while (process.env.LOOPS) await new Promise((resolve) => setTimeout(resolve, 9));
  if (process.env.FAIL) throw new Error("it is cloudy");`;
const WORDS = /^(?:bun|deno) test (?:\S+ )*(?:\.\/)?greet\.test\.mjs$/;

/** A project in which `recorded()` has recorded two fixtures, and what `crochet replay` says of them. */
export async function two(env: { [name: string]: string } = {}) {
  const it = await project(TWO);
  const made = await it.run({ ...RECORD, ...env });
  assert.deepEqual([made.ok, made.asked], [true, 2], made.said);
  const replayed = async (args: readonly string[], env: { [name: string]: string } = {}) => {
    const { code, out, err } = await it.crochet(["replay", "--json", ...args], env);
    const { items } = JSON.parse(out) as { items: { name: string; word: string; why?: string }[] };
    return { code, err, words: items.map(({ name, word }) => [name.replace(WORDS, "COMMAND"), word]), items };
  };
  return { ...it, replayed };
}
