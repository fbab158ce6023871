import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import replay from "../../../lib/cli/replay.ts";
import { runsIn } from "../../../lib/cli/kit/known-fixtures.ts";
import { trustFixtures } from "../../../lib/hooks/hook-trust.ts";
import { fixtureAt } from "../../../lib/replay/fixture.ts";
import { recordCommand } from "../../../lib/extensions/tape/run-command.ts";
import { withEnv } from "../../_env.ts";
import { type Place, place } from "../../_place.ts";
import { RUNTIME } from "../../_runtime.ts";
import { serve } from "../../_server.ts";

/** A program that is not ours: it sends what asks.json says, and ends with the code that exit.json says. */
const PROGRAM = `
import { readFileSync } from "node:fs";
const read = (path) => JSON.parse(readFileSync(path, "utf8"));
const headers = { "content-type": "application/json" };
for (const [base, path, body] of read("asks.json")) {
  const answer = await fetch(process.env[base] + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (answer.status !== 200) process.exit(1);
}
process.exit(read("exit.json"));
`;

const ANSWER = JSON.stringify({
  ...{ id: "m", type: "message", role: "assistant", model: "m", content: [{ type: "text", text: "ok" }] },
  ...{ stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 1 } },
});

type Ask = [base: string, path: string, body: object];

interface Words {
  readonly system: string;
  readonly prompt: string;
  readonly tool: string;
  readonly result: string;
  readonly echo: string;
  readonly failed?: boolean;
}

const WORDS: Words = { system: "You push.", prompt: "Push it.", tool: "Pushes.", result: "denied", echo: "main" };

/** Two requests of a run in which a tool was called, as each API has them. */
const APIS: { readonly [api: string]: (words: Words) => Ask[] } = {
  anthropic: ({ system, prompt, tool, result, echo, failed }) => {
    const use = { type: "tool_use", id: "t1", name: "push", input: { branch: echo } };
    const said = { type: "tool_result", tool_use_id: "t1", content: result, ...(failed && { is_error: true }) };
    const first = { role: "user", content: [{ type: "text", text: prompt }] };
    const head = { model: "m", max_tokens: 9, system, tools: [{ name: "push", description: tool, input_schema: {} }] };
    const then = [first, { role: "assistant", content: [use] }, { role: "user", content: [said] }];
    return [[first], then].map((messages) => ["ANTHROPIC_BASE_URL", "/v1/messages", { ...head, messages }]);
  },
  chat: ({ system, prompt, tool, result, echo }) => {
    const called = { id: "t1", type: "function", function: { name: "push", arguments: JSON.stringify({ echo }) } };
    const first = [{ role: "system", content: system }, { role: "user", content: prompt }];
    const then = [{ role: "assistant", tool_calls: [called] }, { role: "tool", tool_call_id: "t1", content: result }];
    const head = { model: "m", tools: [{ type: "function", function: { name: "push", description: tool } }] };
    return [first, [...first, ...then]]
      .map((messages) => ["OPENAI_BASE_URL", "/chat/completions", { ...head, messages }]);
  },
  responses: ({ system, prompt, tool, result, echo }) => {
    const first = [{ type: "message", role: "user", content: [{ type: "input_text", text: prompt }] }];
    const then = [
      { type: "function_call", call_id: "t1", name: "push", arguments: JSON.stringify({ echo }) },
      { type: "function_call_output", call_id: "t1", output: result },
    ];
    const head = { model: "m", instructions: system, tools: [{ type: "function", name: "push", description: tool }] };
    return [first, [...first, ...then]].map((input) => ["OPENAI_BASE_URL", "/responses", { ...head, input }]);
  },
  gemini: ({ system, prompt, tool, result, echo }) => {
    const first = [{ role: "user", parts: [{ text: prompt }] }];
    const then = [
      { role: "model", parts: [{ functionCall: { name: "push", args: { echo } } }] },
      { role: "user", parts: [{ functionResponse: { name: "push", response: { output: result } } }] },
    ];
    const head = {
      systemInstruction: { parts: [{ text: system }] },
      tools: [{ functionDeclarations: [{ name: "push", description: tool }] }],
    };
    return [first, [...first, ...then]]
      .map((contents) => ["GOOGLE_GEMINI_BASE_URL", "/v1beta/models/m:generateContent", { ...head, contents }]);
  },
};

/** A project with a recorded run of the program; `asks` changes what it will ask. */
async function recorded(made: Ask[]) {
  const text = JSON.stringify;
  const w = place({ "program.mjs": PROGRAM, "asks.json": text(made), "exit.json": "0" });
  using api = await serve((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(ANSWER);
  });
  const env = {
    ...process.env,
    ...{ ANTHROPIC_BASE_URL: api.url, OPENAI_BASE_URL: api.url, GOOGLE_GEMINI_BASE_URL: api.url },
  };
  const command = [...RUNTIME, "program.mjs"];
  await recordCommand(fixtureAt(`${w.cwd}/fixtures/push`), { command, cwd: w.cwd, env, quiet: true });
  await trustFixtures(w.cwd, w.env, runsIn(w.cwd));
  const asks = (now: Ask[], exit = 0) => w.put({ "asks.json": text(now), "exit.json": text(exit) });
  return { w, command, asks };
}

const tapeOf = (w: Place) => readFileSync(`${w.cwd}/fixtures/push/tape.jsonl`, "utf8");
const review = (w: Place, keys: string) => withEnv({ CI: undefined }, () => w.main(["replay", "--review"], {}, keys));

for (const [api, made] of Object.entries(APIS)) {
  test(`a review of another program accepts what it reads, and its replies are stale: ${api}`, async () => {
    const { w, command, asks } = await recorded(made(WORDS));
    using _ = w;
    const before = tapeOf(w);
    assert.match((await review(w, "")).out, /nothing to review/);
    asks(made({ ...WORDS, system: "You push gently.", prompt: "Push it now.", tool: "Pushes a branch." }));
    const skipped = await review(w, "a\na\ns\n");
    assert.deepEqual([skipped.code, tapeOf(w)], [1, before], skipped.err);
    const { code, out } = await review(w, "a\na\na\n");
    assert.match(out, /- You push\.\n {4}\+ You push gently\.\n/);
    assert.match(out, /push: accepted, 2 replies stale\n/);
    assert.equal(code, 0);
    const again = await w.call(replay, "push", "--", ...command);
    assert.deepEqual([again.code, /^push .*2\/2/m.exec(again.out)?.[0]], [0, "push     held, 2 stale  2/2"]);
    const strict = await w.call(replay, "push", "--no-stale", "--junit", "r.xml", "--", ...command);
    assert.deepEqual([strict.code, /^push .*2\/2/m.exec(strict.out)?.[0]], [1, "push     broken  2/2"]);
    assert.match(strict.out, /\n {2}stale: 2 replies answer an earlier request: /);
    assert.match(readFileSync(`${w.cwd}/r.xml`, "utf8"), /failures="1"[^]*<failure message="stale: 2 replies answer/);
  });

  test(`a review of another program never accepts a run whose tool outcome changed: ${api}`, async () => {
    const { w, asks } = await recorded(made(WORDS));
    using _ = w;
    const before = tapeOf(w);
    const [first, second] = made(WORDS) as [Ask, Ask];
    const others: [why: string, asks: Ask[], exit?: number][] = [
      ["a tool call came out otherwise in main#2", made({ ...WORDS, result: "pushed" })],
      ["sends back another reply", made({ ...WORDS, echo: "all" })],
    ];
    // Only this API says whether a call failed; the others do not depend on the API.
    if (api === "anthropic") {
      others.push(["a tool call came out otherwise in main#2", made({ ...WORDS, failed: true })]);
      others.push(["lane main makes 1 calls, and 2 were recorded", [first]]);
      others.push(["lane main makes 3 calls, and 2 were recorded", [first, second, second]]);
      others.push(["it ends with 'exit 4', not with 'exit 0'", made(WORDS), 4]);
    }
    for (const [why, now, exit] of others) {
      // Beside a harmless difference, which could be accepted.
      asks(JSON.parse(JSON.stringify(now).replaceAll("You push.", "You push gently.")), exit);
      const { code, out } = await review(w, "a\n".repeat(9));
      assert.ok(out.includes(`${why}: record it again\n`), `${why}: ${out}`);
      assert.deepEqual([code, tapeOf(w)], [1, before], why);
    }
  });
}

test(
  "a review says of a program that ends before its first request that it does, and not to record it",
  async () => {
    const { w } = await recorded(APIS.chat!(WORDS));
    using _ = w;
    w.put({ "program.mjs": `console.error("no key"); process.exit(3);` });
    const { code, out } = await review(w, "a\n");
    assert.match(out, /^✗ push: Cannot go on as its program ended before its first request: exit 3\n {4}no key\n$/);
    assert.equal(code, 1);
  },
);

test("a program is reviewed only in a project that is trusted", async () => {
  const { w } = await recorded(APIS.chat!(WORDS));
  using _ = w;
  const { code, err } = await w.main(["replay", "--review"], { HOME: `${w.home}/other` }, "a\n");
  assert.match(err, /Cannot review as fixtures\/push is not trusted/);
  assert.equal(code, 2);
});
