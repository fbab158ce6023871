import assert from "node:assert/strict";
import { cpSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { scriptedServer } from "../../../lib/testing/server.ts";
import { testData } from "../../_data.ts";
import { type Place, place } from "../../_place.ts";
import { RUNTIME } from "../../_runtime.ts";
import { put } from "../../_scratch.ts";

interface Case {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly also?: readonly (readonly [from: string, to: string])[];
  readonly harmful: boolean;
  readonly names?: string;
}

const [CASES] = [testData("programs/programs.jsonl")].map((path) =>
  readFileSync(path, "utf8").trim().split("\n").map((line): Case => JSON.parse(line))
);
const REPLIES = [{ tools: [{ name: "refund", input: { cents: 500 } }] }, { text: "All done." }];
const COMMAND = ["--", ...RUNTIME, "agent.mjs", "refund it"];

/** The program of the cases, before it is recorded. */
function refund(): Place {
  const here = place();
  cpSync(testData("programs/refund"), here.cwd, { recursive: true });
  return here;
}

async function record(here: Place, ...flags: string[]) {
  await using api = await scriptedServer(REPLIES);
  return await here.main(["record", "--fixture", "refund", ...flags, ...COMMAND], { ANTHROPIC_BASE_URL: api.url });
}

const change = (text: string, { from, to, also = [] }: Case) =>
  [[from, to] as const, ...also].reduce((was, [one, other]) => {
    assert.ok(was.includes(one), one);
    return was.replace(one, () => other);
  }, text);

test("RECORD 2, 3: a recording is proven by a run more, and each harmful change of a program is named and no harmless one", async () => {
  using here = refund();
  const { code, err } = await record(here);
  assert.equal(code, 0, err);
  assert.match(
    err,
    /^runs it once more, offline for the model, .* outside this directory happens again \(--once leaves/m,
  );
  assert.match(err, /^recorded fixtures\/refund: exit 0, 2 calls, .*, replays$/m);
  const left = /^ {2}not compared, as it differs from run to run: 1 of 3 lines that it printed, last-run\.txt$/m;
  assert.match(err, left);
  assert.equal(readFileSync(join(here.cwd, "ledger.txt"), "utf8"), "opened\nrefund 500\n", "it works in a copy");
  const held = await here.main(["replay"]);
  assert.deepEqual([held.code, held.err], [0, ""], held.out);
  assert.match(held.out, left);
  const program = readFileSync(join(here.cwd, "agent.mjs"), "utf8");
  for (const one of CASES!) {
    put(here.cwd, { "agent.mjs": change(program, one) });
    const { code, out } = await here.main(["replay"]);
    assert.equal(code, one.harmful ? 1 : 0, `${one.name}: ${out}`);
    if (one.names) assert.ok(out.includes(one.names), `${one.name}: ${out}`);
  }
});

const head = `import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
const headers = { "x-api-key": "none", "anthropic-version": "2023-06-01" };
const ask = async (text) => {
  const messages = [{ role: "user", content: text }];
  const body = JSON.stringify({ model: "m", max_tokens: 9, messages });
  return (await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", headers, body })).json();
};
`;

/** Records a program that asks, and what it does besides. */
async function recorded(here: Place, does: string, ...flags: string[]) {
  put(here.cwd, { "agent.mjs": head + does });
  await using api = await scriptedServer([{ text: "yes" }]);
  const words = ["record", "--fixture", "it", ...flags, ...COMMAND];
  return await here.main(words, { ANTHROPIC_BASE_URL: api.url, SHOP_TOKEN: "tk-4711-quite-secret" });
}

test("RECORD 3: with --once a program runs once, and every replay says what it does not compare", async () => {
  using here = place({ "runs.txt": "" });
  const { code, err } = await recorded(
    here,
    `await ask("hi"); appendFileSync(process.env.HOME + "/runs", "x");`,
    "--once",
  );
  assert.deepEqual([code, readFileSync(join(here.home, "runs"), "utf8")], [0, "x"]);
  assert.match(err, /^recorded fixtures\/it: exit 0, 1 call, .*, not proven\n$/);
  const { code: held, out } = await here.main(["replay"]);
  assert.deepEqual([held, /^ {2}not compared: stdout, files$/m.test(out)], [0, true], out);
});

test("RECORD 3: what asks otherwise each time does not replay unchanged: exit 1, the drift, and the fixture is kept", async () => {
  using here = place();
  const { code, err } = await recorded(here, `await ask("ticket " + Math.random());`);
  assert.equal(code, 1, err);
  assert.match(
    err,
    /, but it does not replay unchanged: declare what differs with --normalise\n {2}prompt: messages\./,
  );
  assert.match((await here.main(["replay"])).out, /^it +broken/m);
  const declared = ["--normalise", "ticket=messages.**=0\\.\\d+"];
  assert.equal((await here.main(["fixtures", "ls"])).code, 0);
  using other = place();
  assert.equal((await recorded(other, `await ask("ticket " + Math.random());`, ...declared)).code, 0);
});

test("RECORD 2: what is too large or may not be kept is named, bytes are compared, and fixtures/ may be written to", async () => {
  using here = place({ ".env": "A=1\n" });
  const { code, err } = await recorded(
    here,
    `await ask("hi"); process.stdout.write(Buffer.alloc(1100000, 255)); writeFileSync("big.bin", Buffer.alloc(11e6));
mkdirSync("fixtures/other", { recursive: true }); writeFileSync("fixtures/other/a.bin", Buffer.from([255, 254]));
appendFileSync(".env", "B=2\\n");`,
  );
  assert.equal(code, 0, err);
  const { code: held, out } = await here.main(["replay"]);
  assert.equal(held, 0, out);
  assert.match(out, /^ {2}not compared, as it is not kept with the fixture: stdout, \.env, big\.bin$/m);
  put(here.cwd, { "agent.mjs": readFileSync(join(here.cwd, "agent.mjs"), "utf8").replace("[255, 254]", "[255, 253]") });
  const changed = await here.main(["replay"]);
  assert.deepEqual([changed.code, /fixtures\/other\/a\.bin is changed/.test(changed.out)], [1, true], changed.out);
});

test("RECORD 2: bytes on stdout that are no text are compared too", async () => {
  const prints = (byte: number) => `await ask("hi"); process.stdout.write(Buffer.from([255, ${byte}]));`;
  using here = place();
  const { code, err } = await recorded(here, prints(254));
  assert.equal(code, 0, err);
  assert.equal((await here.main(["replay"])).code, 0);
  put(here.cwd, { "agent.mjs": head + prints(253) });
  const { code: changed, out } = await here.main(["replay"]);
  assert.deepEqual([changed, /stdout is not what was recorded/.test(out)], [1, true], out);
});

test("RECORD 2: a secret on stdout is not kept without --redact, which writes a placeholder that replays", async () => {
  const says = `await ask("hi"); console.log("token", process.env.SHOP_TOKEN);`;
  using here = place();
  const { code, err } = await recorded(here, says);
  assert.equal(code, 1);
  assert.match(err, /Cannot write tape .* as line \d+\.out shows .*: keep it out of the run, or record with --redact/);
  assert.equal(existsSync(join(here.cwd, "fixtures/it/tape.jsonl")), false);
  const redacted = await recorded(here, says, "--redact");
  assert.equal(redacted.code, 0, redacted.err);
  assert.doesNotMatch(readFileSync(join(here.cwd, "fixtures/it/tape.jsonl"), "utf8"), /tk-4711/);
  assert.equal((await here.main(["replay"], { SHOP_TOKEN: "tk-another-secret-one" })).code, 0);
});
