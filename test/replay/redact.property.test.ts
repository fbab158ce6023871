import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { agent } from "../../lib/index.ts";
import { redactor } from "../../lib/log/redact/redact.ts";
import { readLoggedRun } from "../../lib/log/logged-run.ts";
import { redact, scripted } from "../../lib/testing/index.ts";
import { tries } from "../_counts.ts";
import { withEnv } from "../_env.ts";
import { words } from "./_arbitraries.ts";
import { Fail, inFolder, Look, Note, take, tapeIn } from "./_stage.ts";

const hex = (length: number) =>
  fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: length, maxLength: length });
const letters = (length: number) =>
  fc.string({
    unit: fc.constantFrom(..."ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0123456789"),
    minLength: length,
    maxLength: length,
  });
const uuid = fc.uuid();

interface Planted {
  /** What must not be seen. */
  readonly secret: string;
  /** The text it stands in. */
  readonly text: string;
  readonly env: { readonly [name: string]: string };
}

/** Secrets of every kind, each in the kind of text it leaks in. */
const planted: fc.Arbitrary<Planted> = fc.oneof(
  fc.tuple(
    fc.constantFrom("GITHUB_TOKEN", "MY_API_KEY", "DB_PASSWORD"),
    fc.string({ minLength: 8, maxLength: 30 }).filter((s) => s.trim() === s && !/^[a-z-]*$/i.test(s)),
  )
    .map(([name, secret]) => ({ secret, text: `it is ${secret}, I think`, env: { [name]: secret } })),
  letters(40).map((s) => ({ secret: `sk-ant-api03-${s}`, text: `key: sk-ant-api03-${s}`, env: {} })),
  letters(36).map((s) => ({ secret: `ghp_${s}`, text: `https://x:ghp_${s}@github.com`, env: {} })),
  letters(16).map((s) => ({ secret: `AKIA${s.toUpperCase()}`, text: `AKIA${s.toUpperCase()}`, env: {} })),
  letters(30).map((s) => ({ secret: s, text: `Authorization: Bearer ${s}`, env: {} })),
  letters(64).map((s) => ({
    secret: s,
    text: `-----BEGIN RSA PRIVATE KEY-----\n${s}\n-----END RSA PRIVATE KEY-----`,
    env: {},
  })),
  letters(24).map((s) => ({ secret: s, text: `set-cookie: session=${s}; Path=/; HttpOnly`, env: {} })),
  letters(24).map((s) => ({ secret: s, text: `Cookie: __cf=${s}`, env: {} })),
  uuid.map((s) => ({ secret: s, text: `organization_id: ${s}`, env: {} })),
  uuid.map((s) => ({ secret: s, text: `{"organization":{"uuid":"x"},"organization_uuid":"${s}"}`, env: {} })),
  letters(24).map((s) => ({ secret: `wrkspc_${s}`, text: `in wrkspc_${s}`, env: {} })),
  hex(12).map((s) => ({ secret: s, text: `postgres://app:${s}@db/main`, env: {} })),
);

/** Any value with a text somewhere in it. */
const around = (text: string): fc.Arbitrary<unknown> =>
  fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constant(text),
      fc.tuple(words, words).map(([a, b]) => `${a}\n${text} ${b}`),
      tie("list"),
      tie("object"),
    ),
    list: fc.tuple(words, tie("value")).map(([a, b]) => [a, b]),
    object: fc.tuple(words, tie("value")).map(([key, part]) => ({ [`k${key}`]: part, n: 1 })),
  })).value!;

test("redact() never lets a planted secret through, wherever it stands", () => {
  fc.assert(
    fc.property(
      planted.chain((plant) => fc.tuple(fc.constant(plant), around(plant.text))),
      ([{ secret, env }, value]) => {
        const clean = JSON.stringify(redactor({ env }).value(value));
        assert.equal(clean.includes(JSON.stringify(secret).slice(1, -1)), false, clean);
      },
    ),
    { numRuns: tries(125, 20_000, 500) },
  );
});

const shortHome = homedir().length <= 3 && "a home as short as / is no secret";

test("redact() shows the home directory only as {HOME}", { skip: shortHome }, () => {
  fc.assert(
    fc.property(words, (text) => {
      const clean = redact({ path: `see ${homedir()}/notes ${text}` }).path;
      assert.ok(clean.startsWith("see {HOME}/notes "), clean);
    }),
    { numRuns: tries(25, 2000, 100) },
  );
});

test("redact() a second time never changes anything", () => {
  fc.assert(
    fc.property(fc.array(planted, { minLength: 1, maxLength: 4 }), words, (plants, between) => {
      const env = Object.assign({}, ...plants.map((p) => p.env));
      const { value } = redactor({ env, seed: "s" });
      const once = value({ text: plants.map((p) => p.text).join(between) });
      assert.deepEqual(value(once), once);
    }),
    { numRuns: tries(75, 10_000, 300) },
  );
});

test("redact() never touches opaque base64, and returns the value itself if nothing is found", () => {
  const base64 = fc.uint8Array({ minLength: 1, maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString("base64"));
  fc.assert(
    fc.property(
      base64,
      fc.constantFrom("signature", "data", "encrypted_content"),
      planted,
      (data, key, { text, env }) => {
        const block = { type: "thinking", [key]: `AKIAABCDEFGHIJKLMNOP${data}`, thinking: text };
        const clean = redactor({ env }).value(block);
        assert.equal(clean[key], block[key]);
        const harmless = { type: "text", text: "nothing to see", [key]: data };
        assert.equal(redactor({ env }).value(harmless), harmless);
      },
    ),
    { numRuns: tries(50, 5000, 200) },
  );
});

test("equal secrets always get equal placeholders, and different ones different ones", () => {
  fc.assert(
    fc.property(letters(40), letters(40), (a, b) => {
      fc.pre(a !== b);
      const { text } = redactor({ env: {}, seed: "s" });
      const [first, again, other] = [`sk-ant-${a}`, `sk-ant-${a}`, `sk-ant-${b}`].map((secret) => text(secret));
      assert.equal(first, again);
      assert.notEqual(first, other);
    }),
    { numRuns: tries(25, 2000, 100) },
  );
});

test("U16: a secret in a run, whole or in pieces, never reaches the tape, nor what is shown of a log", async () => {
  await fc.assert(
    fc.asyncProperty(
      planted,
      fc.constantFrom("prompt", "reply", "input", "thinking", "system", "result"),
      fc.boolean(),
      async ({ secret, text, env }, where, allowed) => {
        await withEnv(env, () =>
          inFolder(async (folder) => {
            const put = (place: string) => where === place ? text : "plain";
            const replies = [
              {
                thinking: put("thinking"),
                text: put("reply"),
                tools: [{ name: where === "result" ? "Fail" : "Look", input: { say: put("input") } }],
              },
              { text: "over" },
            ];
            const leak = { ...Fail, run: () => text };
            const subject = () => agent({ system: put("system"), tools: [Look, Note, leak], model: scripted(replies) });
            const errors: unknown[] = [];
            const told = await take(subject(), {
              folder,
              prompt: put("prompt"),
              tape: { path: folder, mode: "record", redact: allowed, onError: (error) => errors.push(error) },
            });
            const shown = JSON.stringify(secret).slice(1, -1);
            const { id } = await subject().run(put("prompt"), { log: folder, cwd: folder });
            const logged = JSON.stringify(readLoggedRun(join(folder, `${id}.jsonl`)));
            assert.equal(logged.includes(shown), false, "what is shown of the log has it");
            assert.equal(told.result.stop, "done");
            const tape = existsSync(tapeIn(folder)) ? readFileSync(tapeIn(folder), "utf8") : "";
            assert.equal(tape.includes(shown) || joined(tape).includes(shown), false, "the tape shows it");
            if (allowed) assert.deepEqual(errors, []);
            assert.equal(tape === "", errors.length > 0);
            for (const error of errors) {
              assert.match((error as Error).message, /^Cannot write tape/);
              assert.equal((error as Error).message.includes(secret), false);
            }
          }));
      },
    ),
    { numRuns: tries(20, 1500, 60) },
  );
});

/** The texts of a tape's runs of deltas, each in one piece. */
function joined(tape: string): string {
  return tape.split("\n").filter(Boolean).flatMap((line) =>
    (JSON.parse(line).list ?? []).map((item: { of?: string[] }) => item.of?.join("") ?? "")
  ).join("\n");
}
