import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { TypedHooks } from "../../lib/hooks/code-hooks.ts";
import { agent, type AgentOptions, anthropic, tool } from "../../lib/index.ts";
import { fixtureAt } from "../../lib/replay/fixture.ts";
import { readTape } from "../../lib/replay/read-tape.ts";
import { type ReplayOptions, runFixture } from "../../lib/replay/run-fixture.ts";
import { type ScriptedReply, scriptedServer } from "../../lib/testing/index.ts";
import { Grep } from "../../lib/tools/index.ts";
import { withEnv } from "../_env.ts";
import { inFolder, Look, Note } from "./_stage.ts";

const TOKEN = "ghp_Kx82QmZ4tWvB91LsYd7RfNc3HgTj60PuEo5a";
const BEARER = "Zk39fjQ81mZp02LsXyR7";

/** Writes down where it works, as compilers and package managers do. */
const Where = tool({
  name: "Where",
  description: "Notes where it is.",
  input: { type: "object", properties: {} },
  effect: "write",
  run: (_, { cwd }) => {
    writeFileSync(join(cwd, "where.txt"), `gcc -I${cwd}/include\n`);
    return { content: `gcc -I${cwd}/include`, response: { data: TOKEN } };
  },
});

/** Writes bytes that are no text around what it is given as digits. */
const Pack = tool<{ digits: string }>({
  name: "Pack",
  description: "Packs.",
  input: { type: "object", properties: { digits: { type: "string" } } },
  effect: "write",
  run: ({ digits }, { cwd }) => {
    writeFileSync(
      join(cwd, "pack.bin"),
      Buffer.concat([Buffer.of(0, 255, 254), Buffer.from(digits, "hex").map((byte) => byte ^ 1), Buffer.of(0)]),
    );
    return "packed";
  },
});

/** Records a run as `crochet record` does, and says whether it replays at the Model seam and through the SDK. */
async function recordedAndReplayed(
  replies: readonly ScriptedReply[],
  options: Pick<ReplayOptions, "redact" | "tools" | "normalise">,
  more: AgentOptions = {},
): Promise<{ tape: string; reports: unknown[][] }> {
  return await inFolder(async (folder) => {
    await using server = await scriptedServer([...replies, { text: "It is done." }]);
    const model = anthropic({ apiKey: "not-a-key", baseURL: server.url });
    const maker = agent({ system: "You work.", tools: [Grep, Look, Note, Pack, Where], model, ...more });
    const fixture = { ...fixtureAt(join(folder, "made")), files: undefined };
    const recorded = await runFixture(fixture, maker, { mode: "record", prompts: ["Do it"], ...options });
    assert.equal(recorded.result.stop, "done");
    const reports: unknown[][] = [];
    for (const wire of [false, true]) {
      const { report } = await runFixture(fixture, maker, { wire });
      reports.push([report.ok, report.divergences, report.files]);
    }
    await readTape(fixture.tape); // it is searched again
    return { tape: readFileSync(fixture.tape, "utf8"), reports };
  });
}

const REPLAYED = [[true, [], []], [true, [], []]];

test("a run that writes its directory into a file always replays in another directory", async () => {
  const { reports, tape } = await recordedAndReplayed([{ tools: [{ name: "Where", input: {} }] }], {});
  assert.deepEqual(reports, REPLAYED);
  assert.ok(tape.includes("gcc -I{ROOT}/include"), tape);
});

test("U16: a redacted run always replays, also if it writes the secret into a file", async () => {
  const note = (say: string) => ({ tools: [{ name: "Note", input: { say } }] });
  const { reports, tape } = await withEnv(
    { MY_PASSWORD: "correct-horse-9" },
    () => recordedAndReplayed([note(`token ${TOKEN}`), note("and correct-horse-9")], { redact: true }),
  );
  assert.deepEqual(reports, REPLAYED);
  assert.deepEqual([TOKEN, "correct-horse-9"].filter((secret) => tape.includes(secret)), []);
});

test("U16: a secret that only the words before it give away is taken out everywhere, also before them", async () => {
  const { reports, tape } = await recordedAndReplayed([
    { text: `First ${BEARER}.`, tools: [{ name: "Look", input: { say: BEARER } }] },
    { text: "Then", tools: [{ name: "Look", input: { say: `curl -H 'Authorization: Bearer ${BEARER}'` } }] },
  ], { redact: true, tools: true });
  assert.deepEqual(reports, REPLAYED);
  const texts = JSON.parse(`[${tape.trim().split("\n").join(",")}]`).flatMap(({ list = [] }) =>
    list.map(({ of = [] }) => [of].flat().join(""))
  );
  assert.equal([tape, ...texts].some((text) => text.includes(BEARER)), false, tape);
  assert.equal(new Set(tape.match(/\{KEY:[0-9a-f]{6}\}/g)).size, 1, "one secret, one placeholder");
});

test("U16: a secret that words or a hook of the agent show before others give it away is taken out, and never drifts", async () => {
  const say = (words: string) => ({ tools: [{ name: "Look", input: { say: words } }] });
  // The shorter one is no random word by itself: only its placeholder on the tape gives it away on replay.
  for (const key of [BEARER, BEARER.slice(0, 18)]) {
    const replies = [say("first"), say(`Authorization: Bearer ${key}`), say("last")];
    const hooks = { postToolUse: (_, ctx) => ctx.addContext(`key=${key}; (${key})`) } satisfies TypedHooks;
    for (const more of [{ system: `You hold ${key}.` }, { system: `https://a.b/c?key=${key}` }, { hooks }]) {
      const { reports, tape } = await recordedAndReplayed(replies, { redact: true }, more);
      assert.equal(tape.includes(key), false, tape);
      assert.deepEqual(reports, REPLAYED, JSON.stringify(more));
    }
  }
});

test("U16: an organisation id that is found in one place is removed everywhere, without --redact", async () => {
  const id = "3b6e2f0c-1a2b-4c3d-8e9f-001122334455";
  for (const tools of [false, true]) {
    const { reports, tape } = await recordedAndReplayed(
      [
        { text: `First ${id}.`, tools: [{ name: "Look", input: { say: id } }] },
        { tools: [{ name: "Look", input: { say: `organization_id: ${id}` } }] },
        { tools: [{ name: "Look", input: { say: `and ${id}` } }] },
      ],
      { tools },
      { system: `You work for ${id}.` },
    );
    assert.deepEqual(reports, REPLAYED);
    assert.equal(tape.replaceAll('","', "").includes(id), false, tape);
    assert.equal(new Set(tape.match(/\{ORGANISATION:[0-9a-f]{6}\}/g)).size, 1, "one id, one placeholder");
  }
});

test("U16: a redacted run always replays if a key comes in lines, with numbers before them, in JSON, and alone", async () => {
  const lines = ["aB3dE5gH7j", "kL9mN1pQ2r"].map((line) => line.repeat(6));
  const pem = [["-----BEGIN PRIVATE", "KEY-----"].join(" "), ...lines, ["-----END PRIVATE", "KEY-----"].join(" ")];
  const replies: ScriptedReply[] = [
    { tools: [{ name: "Note", input: { say: pem.join("\n") } }] },
    { tools: [{ name: "Grep", input: { pattern: ".", output_mode: "content" } }] },
    { tools: [{ name: "Look", input: { say: "once more" } }] },
  ];
  const hooks = {
    postToolUse: ({ input, result }, ctx) => {
      ctx.addContext(JSON.stringify({ input, said: result.content }));
      ctx.addContext(`Authorization: Bearer ${BEARER}`);
      ctx.addContext(`alone: ${BEARER}`);
    },
  } satisfies TypedHooks;
  for (const tools of [false, true]) {
    const { reports, tape } = await recordedAndReplayed(replies, { redact: true, tools }, { hooks });
    assert.deepEqual(reports, REPLAYED);
    assert.deepEqual([...lines, BEARER].filter((secret) => tape.includes(secret)), []);
    assert.equal(new Set(tape.match(/\{KEY:[0-9a-f]{6}\}/g)).size, 2, "two keys, two placeholders");
  }
});

test("U16: a secret in a field that is named as opaque ones are never reaches a tape", async () => {
  const replies = [{ tools: [{ name: "Where", input: {} }] }];
  await assert.rejects(recordedAndReplayed(replies, { tools: true }), /shows what looks like a secret \(random word\)/);
  const { tape } = await recordedAndReplayed(replies, { tools: true, redact: true });
  assert.equal(tape.includes(TOKEN), false);
  assert.match(tape, /"data":"\{KEY:[0-9a-f]{6}\}"/);
});

/** Bytes in digits that no redactor knows, and Pack does. */
const otherwise = (bytes: Buffer) => Buffer.from(bytes.map((byte) => byte ^ 1)).toString("hex");

test("U16: a secret in a binary file is always reported and never written, and such a file is never changed", async () => {
  const replies = (digits: string) => [{ tools: [{ name: "Pack", input: { digits } }] }];
  const refused = /line \d+\.files\.pack\.bin\.base64 shows .*: keep it out of the run, as a binary file cannot/;
  for (const secret of [TOKEN, "correct-horse-9"]) {
    // Said otherwise, so that only the file shows it.
    const said = otherwise(Buffer.from(secret));
    await withEnv({ MY_PASSWORD: "correct-horse-9" }, async () => {
      for (const redact of [false, true]) {
        await assert.rejects(recordedAndReplayed(replies(said), { tools: true, redact }), refused);
      }
    });
  }
  // What looks like a place in base64 is none.
  const { tape } = await recordedAndReplayed(replies(otherwise(Buffer.from("/tmp/x", "base64"))), { tools: true });
  assert.match(tape, /"pack\.bin":\{"base64":"[\w+/=]+"\}/);
});

test("a normaliser that shows a secret is refused with its own fix, as it cannot be redacted", async () => {
  const normalise = [{ name: "token", path: "system", pattern: TOKEN }];
  await assert.rejects(
    recordedAndReplayed([], { redact: true, normalise }),
    /as line 1\.normalise\.0\.pattern shows what looks like a secret \(random word\): write the rule of --normalise without it$/,
  );
});
