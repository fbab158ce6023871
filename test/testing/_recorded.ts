import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { scriptedServer } from "../../lib/testing/index.ts";
import { OUR_RUNTIME } from "../_runtime.ts";
import { scratch } from "../_scratch.ts";

const lib = (path: string) => fileURLToPath(new URL(`../../lib/${path}`, import.meta.url));
const PRELOAD = ["--preload", lib("testing/preload.ts"), "greet.test.mjs"];
/** `bun test` or `deno test`, as these tests run. */
export const RUNNER: readonly [string, ...string[]] = "Deno" in globalThis
  ? [OUR_RUNTIME[0], "test", ...OUR_RUNTIME.slice(2), ...PRELOAD]
  : [OUR_RUNTIME[0], "test", ...PRELOAD];

/** What an SDK does: it reads where its API is as soon as it is loaded. */
const CLIENT = `
const BASE = process.env.ANTHROPIC_BASE_URL ?? "http://127.0.0.1:9";
export async function ask(text) {
  const headers = { "content-type": "application/json", "x-api-key": process.env.ANTHROPIC_API_KEY, "anthropic-version": "2023-06-01" };
  const body = JSON.stringify({ model: "m", max_tokens: 9, messages: [{ role: "user", content: text }] });
  const response = await fetch(BASE + "/v1/messages", { method: "POST", headers, body });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error.message);
  return answer.content[0].text;
}
`;

/** Not all of `crochet/testing`, which each process would load. */
const ONLY_RECORDED = `import { recorded } from ${JSON.stringify(lib("testing/recorded.ts"))};`;
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
  const run = (given: { [name: string]: string } = {}) => {
    const { ANTHROPIC_API_KEY: _, CI: _ci, CROCHET_RECORD: _record, ...rest } = process.env;
    const env = { ...rest, ANTHROPIC_BASE_URL: api.url, ...given };
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
  const tape = () => join(folder.path, "fixtures/greets/tape.jsonl");
  return {
    run,
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
