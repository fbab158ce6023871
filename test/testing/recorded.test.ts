import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { scriptedServer } from "../../lib/testing/index.ts";
import { OUR_RUNTIME } from "../_runtime.ts";
import { scratch } from "../_scratch.ts";

const lib = (path: string) => fileURLToPath(new URL(`../../lib/${path}`, import.meta.url));
const PRELOAD = ["--preload", lib("testing/preload.ts"), "greet.test.mjs"];
/** `bun test` or `deno test`, as these tests run. */
const RUNNER: readonly [string, ...string[]] = "Deno" in globalThis
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

/** A project whose test asks what it is given, and its runs: `bun test`, `deno test`. */
async function project(body: string) {
  const api = await scriptedServer([], {
    then: ({ messages }) => ({ text: `to ${JSON.stringify(messages.at(-1)!.content)}` }),
  });
  const folder = scratch({
    "client.mjs": CLIENT,
    "greet.test.mjs": `
import { test } from "node:test";
import { recorded, replay, scripted } from ${JSON.stringify(lib("testing/index.ts"))};
import { agent } from ${JSON.stringify(lib("index.ts"))};
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

const GREETS = `await recorded("greets", async () => {
    const said = await ask(TEXT);
    if (!said.includes(TEXT)) throw new Error("it says " + said);
    if (process.env.FAIL) throw new Error("the body failed");
  });`;
const RECORD = { CROCHET_RECORD: "1" };

test("recorded(): missing, recorded, replayed, drifted, recorded again; without the variable no request leaves", async () => {
  await using it = await project(GREETS);
  const missing = await it.run();
  assert.match(
    missing.said,
    /Cannot replay 'greets' as fixtures\/greets\/tape\.jsonl is missing: CROCHET_RECORD=1 (?:bun test|deno test -A)/,
  );
  assert.deepEqual([missing.ok, missing.asked], [false, 0]);

  const made = await it.run(RECORD);
  assert.deepEqual([made.ok, made.asked], [true, 1], made.said);
  const first = it.text();

  for (const env of [{}, RECORD, { CROCHET_RECORD: "0" }]) {
    const same = await it.run(env);
    assert.deepEqual([same.ok, same.asked], [true, 0], same.said);
    assert.equal(it.text(), first, "nothing is recorded that is there and fits");
  }

  const drifted = await it.run({ TEXT: "hello" });
  assert.deepEqual([drifted.ok, drifted.asked, it.text() === first], [false, 0, true]);
  assert.match(drifted.said, /The run of 'greets' is not the recorded one:[^]*- hi[^]*\+ hello[^]*CROCHET_RECORD=1/);

  const again = await it.run({ TEXT: "hello", ...RECORD });
  assert.deepEqual([again.ok, again.asked], [true, 1], again.said);
  const after = await it.run({ TEXT: "hello" });
  assert.deepEqual([after.ok, after.asked], [true, 0], after.said);
});

test("recorded(): a body that fails keeps no tape, and the one that is there", async () => {
  await using it = await project(GREETS);
  const failed = await it.run({ ...RECORD, FAIL: "1" });
  assert.match(failed.said, /the body failed/);
  assert.deepEqual([failed.ok, failed.asked, existsSync(it.tape())], [false, 1, false]);
  await it.run(RECORD);
  const first = it.text();
  const still = await it.run({ ...RECORD, FAIL: "1" });
  assert.deepEqual([still.ok, still.asked, it.text() === first], [false, 0, true], "its failure is not drift");
  assert.match(still.said, /the body failed/);
  const drifted = await it.run({ ...RECORD, FAIL: "1", TEXT: "hello" });
  assert.deepEqual([drifted.ok, drifted.asked, it.text() === first], [false, 1, true]);
});

test("recorded(): CI only replays", async () => {
  await using it = await project(GREETS);
  const refused = await it.run({ ...RECORD, CI: "1" });
  assert.deepEqual([refused.ok, refused.asked, existsSync(it.tape())], [false, 0, false]);
  assert.match(refused.said, /Cannot record as CI is set, and CI only replays tapes: record greets on your machine/);
  await it.run(RECORD);
  assert.equal((await it.run({ CI: "1" })).ok, true);
});

test("recorded(): fewer requests than were recorded are drift, and so is a request more", async () => {
  await using it = await project(`await recorded("greets", async () => {
    for (let i = 0; i < Number(process.env.TIMES); i++) {
      await ask("hi " + i).catch(() => {});
      if (process.env.FAIL) throw new Error("the body failed");
    }
  });`);
  assert.equal((await it.run({ ...RECORD, TIMES: "2" })).ok, true);
  assert.equal((await it.run({ TIMES: "2" })).ok, true);
  for (const TIMES of ["1", "3"]) {
    const { ok, said, asked } = await it.run({ TIMES });
    assert.deepEqual([ok, asked], [false, 0], said);
    assert.match(said, /The run of 'greets' is not the recorded one/);
  }
  const failed = await it.run({ TIMES: "2", FAIL: "1" });
  assert.match(failed.said, /the body failed/);
  assert.doesNotMatch(failed.said, /is not the recorded one/, "what it did not come to ask is not drift");
});

test("recorded(): one at a time, and what asks nothing has tested nothing", async () => {
  await using two = await project(`
  const both = await Promise.allSettled([recorded("greets", () => ask("a")), recorded("other", () => ask("b"))]);
  throw new Error(both.map(({ status, reason }) => status + " " + reason?.message).join(", "));`);
  assert.match(
    (await two.run(RECORD)).said,
    /fulfilled undefined, rejected Cannot run 'other' as 'greets' runs at the same time: let tests with recorded\(\) run one by one/,
  );
  await using silent = await project(`await recorded("greets", () => process.env.TEXT && ask("hi"));`);
  const none = await silent.run(RECORD);
  assert.match(none.said, /Cannot record 'greets' as no request came: preload crochet\/testing\/preload/);
  assert.deepEqual([none.ok, existsSync(silent.tape())], [false, false]);
  assert.equal((await silent.run({ ...RECORD, TEXT: "hi" })).ok, true);
  const less = await silent.run();
  assert.match(less.said, /Cannot replay 'greets' as no request came: preload crochet\/testing\/preload/);
  assert.deepEqual([less.ok, less.asked], [false, 0]);
});

test("a request outside of recorded() is refused, even while recording", async () => {
  await using it = await project(`await ask("hi");`);
  for (const env of [{}, RECORD]) {
    const { ok, said, asked } = await it.run(env);
    assert.deepEqual([ok, asked], [false, 0]);
    assert.match(said, /Cannot ask a model here as no recorded\(\) runs: await recorded\("<name>", \(\) => …\)/);
  }
});

test("a process that the test starts with a desk of its own records from the real API, or from where it is told", async () => {
  await using it = await project(`
  const { execFileSync } = await import("node:child_process");
  if (process.env.INNER) await recorded("greets", () => ask("hi"));
  else {
    const [program, ...args] = JSON.parse(process.env.AGAIN);
    execFileSync(program, args, { env: { ...process.env, INNER: "1", ...JSON.parse(process.env.SET) } });
  }`);
  const nowhere = { ANTHROPIC_BASE_URL: "http://127.0.0.1:9", SET: JSON.stringify({ ANTHROPIC_BASE_URL: it.url }) };
  for (const given of [{ SET: "{}" }, nowhere]) {
    rmSync(it.tape(), { force: true });
    const { ok, asked, said } = await it.run({ ...RECORD, AGAIN: JSON.stringify(RUNNER), ...given });
    assert.deepEqual([ok, asked], [true, 1], said);
  }
});

test("replay() records what is missing or drifts if CROCHET_RECORD is set, beside a preload too", async () => {
  await using it = await project(`
  const greeter = agent({ model: scripted([{ text: "to " + TEXT }]), system: TEXT });
  const { text } = await replay(greeter, "greets", { prompt: "go" });
  if (text !== "to " + TEXT) throw new Error(text);`);
  assert.match((await it.run()).said, /fixtures\/greets\/tape\.jsonl is missing, and there is no ANTHROPIC_API_KEY/);
  assert.equal((await it.run(RECORD)).ok, true);
  const first = it.text();
  assert.equal((await it.run()).ok, true);
  const drifted = await it.run({ TEXT: "hello" });
  assert.deepEqual([drifted.ok, it.text() === first], [false, true]);
  assert.equal((await it.run({ TEXT: "hello", ...RECORD, CI: "1" })).ok, false);
  assert.equal((await it.run({ TEXT: "hello", ...RECORD })).ok, true);
  assert.equal((await it.run({ TEXT: "hello" })).ok, true);
});
