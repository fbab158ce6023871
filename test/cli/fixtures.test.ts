import assert from "node:assert/strict";
import { chmodSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fixtures from "../../lib/cli/fixtures.ts";
import replay from "../../lib/cli/replay.ts";
import { fixturesIn } from "../../lib/replay/fixture.ts";
import { agent, anthropic, tool } from "../../lib/index.ts";
import { scripted, scriptedServer } from "../../lib/testing/index.ts";
import { CROCHET, ended } from "../_crochet.ts";
import { withEnv } from "../_env.ts";
import { place } from "../_place.ts";
import { record, SYSTEM, TEA } from "../_record.ts";
import { assertLinear } from "../_processor-time.ts";
import { agentScript } from "./_recorded.ts";

test("fixtures ls, show and scan: what is there, as a conversation, with secrets found", async () => {
  using here = place({ ...TEA, "agent.ts": agentScript(SYSTEM) });
  await record(here.cwd);
  const ls = await here.call(fixtures);
  assert.match(
    ls.out,
    /^fixture +calls +agents +cost +recorded +from +prompt\nfix-the-typo +4 +1 +< \$0\.01 +\d{4}-\d\d-\d\d +scripted server +fix the typo\n$/,
  );
  const [row] = JSON.parse((await here.call(fixtures, "ls", "--json")).out);
  assert.deepEqual([row.calls, row.agents, row.stale], [4, 1, 0]);
  const show = await here.call(fixtures, "show", "fix-the-typo");
  assert.match(
    show.out,
    /from scripted server[\s\S]*› fix the typo\nI read it\.\n▸ Read [\s\S]*✓ [\s\S]*Fixed\.\n\nended with 'done'\n$/,
  );
  const clean = await here.call(fixtures, "scan");
  assert.deepEqual([clean.code, clean.out], [0, "held: 2 files\n"]);
  const orphan = "0".repeat(64);
  here.put({ [`fixtures/blobs/${orphan}`]: `AKIA${"A1".repeat(8)}` });
  const found = await here.call(fixtures, "scan", "--json");
  const { word, planned, items } = JSON.parse(found.out);
  assert.deepEqual([found.code, word, planned], [1, "broken", 3]);
  assert.equal(items.filter((item: { word: string }) => item.word === "broken").length, 1);
  assert.match((await here.call(fixtures, "shwo")).err, /did you mean 'crochet fixtures show'\?/);
  here.put({ "fixtures/fix-the-typo/tape.jsonl": "{}\n" });
  const broken = await here.call(replay, "--trust");
  assert.equal(broken.code, 2);
  assert.match(broken.out, /Cannot read tape .* as line 1: there is no line that begins with ''/);
});

test("a fixture that is there by a link is never passed over, nor one that may not be looked at", async () => {
  using w = place({ "elsewhere/tape.jsonl": "{}\n", "fixtures/locked/tape.jsonl": "{}\n", "fixtures/none/x": "" });
  symlinkSync("../elsewhere", join(w.cwd, "fixtures/linked"));
  for (const nothing of ["nowhere", "to-itself"]) symlinkSync(nothing, join(w.cwd, "fixtures", `to-${nothing}`));
  symlinkSync("to-to-itself", join(w.cwd, "fixtures/to-itself"));
  chmodSync(join(w.cwd, "fixtures/locked"), 0);
  try {
    const found = fixturesIn(join(w.cwd, "fixtures")).map(({ name }) => name);
    assert.deepEqual(found, ["linked", "locked"]);
  } finally {
    chmodSync(join(w.cwd, "fixtures/locked"), 0o755);
  }
});

test("scan reports a file that cannot be read, and searches the others", async () => {
  using w = place({ "fixtures/a.txt": "", "fixtures/z.txt": `AKIA${"A1".repeat(8)}` });
  chmodSync(join(w.cwd, "fixtures/a.txt"), 0);
  // Root reads every file unless it gives that right up.
  const as = process.getuid?.() === 0 ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] : ["env"];
  const { code, out } = await ended([as[0]!, ...as.slice(1), ...CROCHET, "fixtures", "scan"], {
    cwd: w.cwd,
    env: { HOME: w.home },
  });
  assert.equal(code, 1);
  assert.match(
    out,
    /a\.txt: Cannot open \S+a\.txt as that is not permitted.*\n.*z\.txt: line 1: .*\nbroken: 1 of 2 files, 1 cannot run/,
  );
});

const STREAM = [
  '{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"claude-opus-5","content":[],"usage":{}}}',
  '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}',
  '{"type":"content_block_stop","index":0}',
  '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}',
  '{"type":"message_stop"}',
].join("\n");

test("crochet fixtures import makes tapes, and says what it refuses and why", async () => {
  using w = place({ "old/hi.chunks.txt": STREAM, "old/sub/hi.txt": STREAM, "old/notes.md": "# Notes\n" });
  const imported = await w.call(fixtures, "import", "old");
  assert.equal(imported.code, 1);
  assert.match(
    imported.out,
    /old\/hi\.chunks\.txt +vercel-chunks +1 +fixtures\/imported\/old-hi\/tape\.jsonl +the request was not recorded: main#1/,
  );
  assert.match(imported.out, /fixtures\/imported\/sub-hi\/tape\.jsonl/);
  assert.match(
    imported.out,
    /✗ Cannot import 'old\/notes\.md' as its format is not supported: supported are vcrpy, go-vcr,/,
  );
  assert.match(imported.out, /2 imported, 1 refused\n$/);
  assert.equal((await w.call(fixtures, "import", "old/hi.chunks.txt")).code, 0);
  const again = await w.call(fixtures, "import", "old/hi.chunks.txt");
  assert.match(
    again.out,
    /✗ Cannot import .* as fixtures\/imported\/hi\/tape\.jsonl exists: remove it first/,
  );

  w.put({ "fixtures/torn/tape.jsonl": "{" });
  const listed = await w.call(fixtures, "ls");
  assert.equal(listed.code, 1);
  assert.match(listed.out, /\ntorn +- +- +- +- +- +-\n✗ Cannot read tape \S+ as its last line is cut off: /);
  assert.equal((await w.call(fixtures, "import")).code, 2);
  assert.equal((await w.call(fixtures, "import", "nowhere")).code, 2);
});

for (
  const [action, done, args] of [["import", "imported", ["--out", "out"]], ["scan", "judged", []]] as const
) {
  test(`fixtures ${action} always hears an interrupt between two files, and says how far it came`, async () => {
    const answer = { type: "message", role: "assistant", model: "m", content: [{ type: "text", text: "hello" }] };
    const body = JSON.stringify({ id: "m", ...answer, stop_reason: "end_turn", usage: {} });
    using w = place(Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`said/${i}.json`, body])));
    w.put({ "first/one.json": body });
    assert.equal((await w.call(fixtures, action, "first", ...args)).code, 0); // what it needs is loaded by now
    const stop = new AbortController();
    const said = { out: "", err: "" };
    const io = {
      ...{ out: (text: string) => void (said.out += text), err: (text: string) => void (said.err += text) },
      ...{ tty: false, env: w.env, cwd: w.cwd, signal: stop.signal },
    };
    setTimeout(() => stop.abort(), 0);
    assert.equal(await fixtures([action, "said", ...args], io), 130);
    const [, left] = new RegExp(`^crochet: interrupted: (\\d+) of 50 were not ${done}\n$`).exec(said.err) ?? [];
    const told = new RegExp(`^${50 - Number(left)} imported, |not measured: ${left} of 50 files`, "m");
    assert.match(said.out, told);
    if (action === "import") assert.equal(readdirSync(join(w.cwd, "out")).length, 1 + 50 - Number(left));
  });
}

test("fixtures ls prints prices as numbers for scripts: dollars, or null if a model has no price", async () => {
  using w = place({ "known.txt": STREAM, "unknown.txt": STREAM.replace("claude-opus-5", "tea-1") });
  await w.call(fixtures, "import", "known.txt", "unknown.txt");
  const [known, unknown] = JSON.parse((await w.call(fixtures, "ls", "fixtures/imported", "--json")).out);
  assert.deepEqual([known.name, known.tokens, unknown.name, unknown.tokens], ["known", 1, "unknown", 1]);
  assert.ok(known.price > 0 && known.price < 0.01, String(known.price));
  assert.equal(unknown.price, null);
});

test("ls names the folders that hold more fixtures", async () => {
  using w = place({ "old/hi.txt": STREAM });
  await w.call(fixtures, "import", "old");
  assert.equal(
    (await w.call(fixtures, "ls")).out,
    'no fixtures in fixtures: crochet record agent.ts "<prompt>"\n' +
      "1 fixture in fixtures/imported: crochet fixtures ls fixtures/imported\n",
  );
  assert.match(
    (await w.call(fixtures, "ls", "fixtures/imported")).out,
    /^fixture [\s\S]*\nhi +1 +1 +< \$0\.01 +\? +imported from hi\.txt /,
  );
  assert.match((await w.call(fixtures, "ls", "fixtures/imported/hi")).out, /^fixture [^\n]*\nhi +1 [^\n]*\n$/);
});

test("ls and scan refuse a word that is not a folder, and a second folder", async () => {
  using w = place({ "fixtures/a.txt": "a", "more/b.txt": `AKIA${"A1".repeat(8)}` });
  for (const action of ["ls", "scan"]) {
    const cases: [words: string[], why: RegExp][] = [
      [["nowhere"], /^crochet: Cannot \w+ 'nowhere' as there is no such folder\n$/],
      [["fixtures/a.txt"], /^crochet: Cannot \w+ 'fixtures\/a\.txt' as it is not a folder\n$/],
      [["fixtures", "more"], /^crochet: Cannot run 'crochet fixtures \w+ fixtures more' as it takes \[dir\]: /],
    ];
    for (const [words, why] of cases) {
      const { code, err } = await w.call(fixtures, action, ...words);
      assert.equal(code, 2, `${action} ${words}`);
      assert.match(err, why);
    }
  }
});

test("lines of JSON that are not a tape are scanned as text", async () => {
  using w = place({ "fixtures/log.jsonl": '{"a":1}\n', "fixtures/other.jsonl": '{"tape":2}\n' });
  const { code, out } = await w.call(fixtures, "scan");
  assert.equal(code, 2);
  assert.match(out, /^fixtures\/other\.jsonl: its version is 2: .*\ncannot run: 1 of 2 files, 1 held\n$/);
  w.put({ "fixtures/other.jsonl": `{"key":"AKIA${"A1".repeat(8)}"}\n` });
  assert.match((await w.call(fixtures, "scan")).out, /^fixtures\/other\.jsonl: line 1: /);
});

test("scan reports every secret of a file such as .env by its name, and never the value", async () => {
  const names = [
    "DB_PASSWORD",
    "APP_SECRET",
    "API_TOKEN",
    "STRIPE_KEY",
    "MAIL_PWD",
    "SENTRY_DSN",
    "JWT_SECRET",
    "SSH_PASSPHRASE",
    "PG_PASS",
  ];
  const lines = names.map((name, i) => `${name}=value-${i}-hunter`);
  using w = place({ "fixtures/x/files/.env": `${lines.join("\n")}\nNODE_ENV=production\n` });
  const { code, out } = await w.call(fixtures, "scan");
  assert.equal(code, 1);
  assert.equal(
    out,
    `fixtures/x/files/.env: it holds secrets: ${names.join(", ")}\nbroken: 1 file\n`,
  );
});

test("an import reports every file once, even if one cannot be kept; no name begins like a flag", async () => {
  using w = place({ "old/hi.txt": STREAM, "old/(é).txt": STREAM, "out/hi": "in the way" });
  const { code, out } = await w.call(fixtures, "import", "old", "old/hi.txt", "--out", "out");
  assert.equal(code, 1);
  assert.match(out, /\nold\/\(é\)\.txt +vercel-chunks +1 +out\/recording\/tape\.jsonl /);
  assert.match(
    out,
    /\n✗ Cannot import 'old\/hi\.txt' as it cannot be read or written: .*out\/hi.*\n1 imported, 1 refused\n$/,
  );
});

test("fixtures show says of a reply what its words do not: a call that never runs, an end that was not its own", async () => {
  const use =
    '{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"Look","input":{}}}';
  const delta = (json: string) =>
    JSON.stringify({ type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: json } });
  const cases: [json: string, stop: string, shown: RegExp][] = [
    ['{"at":1}', "tool_use", /\n▸ Look \{"at":1\}\n$/],
    ['"at"', "tool_use", /\n▸ Look \{\}\n {2}Look is never run as its input is not a JSON object\n$/],
    ['{"at', "max_tokens", /\n {2}Look is never run as its input was cut off .*\n\(stopped by max_tokens\)\n$/],
  ];
  using w = place();
  for (const [json, stop, shown] of cases) {
    const [start, , ...rest] = STREAM.replace("end_turn", stop).split("\n");
    w.put({ "hi.txt": [start, use, delta(json), ...rest].join("\n") });
    rmSync(join(w.cwd, "fixtures/imported"), { recursive: true, force: true });
    await w.call(fixtures, "import", "hi.txt");
    assert.match((await w.call(fixtures, "show", "fixtures/imported/hi")).out, shown);
  }
  assert.match((await w.call(fixtures, "show", "fixtures/imported/hi", "hello")).err, /hello' as it takes <name>: /);
});

test("fixtures show always takes as long as a run is, however much each call asks again", async () => {
  using w = place();
  const long = tool({ name: "Long", description: "", input: { type: "object" }, run: () => "word ".repeat(4_000) });
  const turns = async (count: number) => {
    const use = { tools: [{ name: "Long", input: {} }] };
    const model = scripted([...Array.from({ length: count }, () => use), { text: "done" }]);
    const path = join(w.cwd, "fixtures", String(count));
    const limits = { iterations: count + 1 };
    const run = agent({ model, tools: [long], limits, cwd: w.cwd, tape: { path, mode: "record" } }).run("go");
    assert.equal((await run).stop, "done");
  };
  await withEnv({ CI: undefined }, async () => {
    for (const count of [10, 80]) await turns(count);
  });
  await assertLinear(80, (count) => () => w.call(fixtures, "show", String(count)));
  const whole = await w.call(fixtures, "show", "80", "--json");
  const lines = JSON.parse(whole.out) as object[];
  const tape = readFileSync(join(w.cwd, "fixtures/80/tape.jsonl"), "utf8");
  assert.equal(lines.length, tape.trimEnd().split("\n").length, "the lines of the tape");
  assert.equal(whole.out.split("word ".repeat(4_000)).length - 1, 80, "each result once");
});

test("fixtures show says why a stream came to nothing: an error in it is not passed over", async () => {
  using w = place();
  await using server = await scriptedServer([{ text: "half", error: "overloaded_error" }, { text: "whole" }]);
  const model = anthropic({ baseURL: server.url, apiKey: "not-a-key" });
  await withEnv(
    { CI: undefined },
    () => agent({ model, tape: { path: join(w.cwd, "fixtures/busy"), mode: "record" } }).run("go"),
  );
  const { out } = await w.call(fixtures, "show", "busy");
  assert.match(out, /\n› go\n {2}Cannot finish the reply as the model reported overloaded_error: .*\nwhole\n/);
});
