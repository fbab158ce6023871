import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { scriptedServer } from "../../../lib/testing/server.ts";
import { CROCHET, start } from "../../_crochet.ts";
import { place } from "../../_place.ts";
import { RUNTIME } from "../../_runtime.ts";
import { put } from "../../_scratch.ts";
import { until } from "../../_until.ts";

const CLIENT = `
const messages = [{ role: "user", content: process.argv[2] ?? "hello" }];
const headers = { "x-api-key": "k", "anthropic-version": "2023-06-01" };
const body = JSON.stringify({ model: "m", max_tokens: 9, messages, stream: true });
const response = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", headers, body });
console.log(response.status, process.env.CROCHET_URL !== undefined);
process.exit(response.ok ? 0 : 7);`;

/** One whose tool says what a file says. */
const TOOL_CLIENT = `
import { readFileSync } from "node:fs";
const result = { type: "tool_result", tool_use_id: "t1", content: readFileSync("said.txt", "utf8") };
const use = { type: "tool_use", id: "t1", name: "look", input: {} };
const messages = [{ role: "user", content: "hi" }, { role: "assistant", content: [use] }, { role: "user", content: [result] }];
const headers = { "x-api-key": "k", "anthropic-version": "2023-06-01" };
const body = JSON.stringify({ model: "m", max_tokens: 9, messages });
await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", headers, body });`;

const command = (...words: string[]) => ["--", ...RUNTIME, "client.mjs", ...words];

async function project() {
  const here = place({ "client.mjs": CLIENT });
  await using api = await scriptedServer([{ text: "hi there" }]);
  const words = ["record", "--fixture", "hi", ...command()];
  const { code, err } = await here.main(words, { ANTHROPIC_BASE_URL: api.url });
  assert.equal(code, 0, err);
  assert.match(err, /recorded fixtures\/hi: exit 0, 1 call/);
  return { ...here, run: (...args: string[]) => here.main(args) };
}

test("a recorded command replays, shows its drift with exit code 1, and mistakes with exit code 2", async () => {
  using here = await project();
  const same = await here.run("replay", "hi", ...command());
  assert.equal(same.code, 0, same.err);
  assert.match(same.out, /^hi +held +1\/1 [^]*\n {2}not compared: stream/m);
  assert.doesNotMatch(same.out, /not compared: (?!stream)/);
  const other = await here.run("replay", "hi", "--junit", "report.xml", ...command("goodbye"));
  assert.equal(other.code, 1);
  assert.match(
    other.out,
    /prompt: messages\.0\.content\.0\.text is not what was recorded \(at main#1\)\n {4}- hello\n {4}\+ goodbye/,
  );
  const { word, items: [{ report }] } = JSON.parse((await here.run("replay", "--json", "hi", ...command("bye"))).out);
  assert.deepEqual([word, report.ok, report.unused], ["broken", false, ["main#1"]]);
  assert.match(readFileSync(join(here.cwd, "report.xml"), "utf8"), /<failure message="prompt: messages\.0/);
});

test("RECORD 1: with --loose results of tools may differ in each replay of the fixture, and are reported", async () => {
  using here = place({ "client.mjs": TOOL_CLIENT, "said.txt": "one" });
  await using api = await scriptedServer([{ text: "strict" }, { text: "loose" }]);
  for (const name of ["strict", "loose"]) {
    const words = ["record", "--fixture", name, ...name === "loose" ? ["--loose"] : [], ...command()];
    const { code, err } = await here.main(words, { ANTHROPIC_BASE_URL: api.url });
    assert.equal(code, 0, err);
  }
  put(here.cwd, { "said.txt": "two" });
  const { code, out } = await here.main(["replay"]);
  assert.deepEqual([code, /^loose +held /m.test(out), /^strict +broken /m.test(out)], [1, true, true], out);
  assert.match(out, /\nloose\n[^]*- one\n +\+ two\n[^]*strict\n/);
});

test("RECORD 2: other words on stdout a file and a link that are left are broken, and what varies is named", async () => {
  using here = place({ "client.mjs": CLIENT.replace("process.exit(", "console.log(Math.random()); process.exit(") });
  await using api = await scriptedServer([{ text: "hi there" }]);
  const env = { ANTHROPIC_BASE_URL: api.url };
  const { code, err } = await here.main(["record", "--fixture", "hi", ...command()], env);
  assert.equal(code, 0, err);
  const varies = /^ {2}not compared, as it differs from run to run: 1 of 2 lines that it printed$/m;
  assert.match(err, /, replays\n/);
  assert.match(err, varies);
  put(here.cwd, {
    "client.mjs": `import { symlinkSync, writeFileSync } from "node:fs"; writeFileSync("dump.json", "");
symlinkSync("..", "up");
${
      CLIENT.replace("response.status,", '"other",').replace(
        "process.exit(",
        "console.log(Math.random()); process.exit(",
      )
    }`,
  });
  const { code: broken, out } = await here.main(["replay"]);
  assert.equal(broken, 1, out);
  assert.match(
    out,
    /\n {2}dump\.json is a new file\n {2}up is a new file\n {2}stdout is not what was recorded\n.*\n {4}- 200 true\n {4}\+ other true\n/,
  );
  assert.match(out, varies);
});

/** What is typed where `hi` is a program's fixture and `own` an agent's, and what is said. */
const REFUSED: readonly (readonly [words: readonly string[], why: RegExp])[] = [
  [["record", "--"], /^crochet: Cannot run a command as none is named: put it behind '--', as in crochet record /],
  [["replay", "hi", "--"], /Cannot run a command as none is named: put it behind '--'/],
  [["record", "--fixture", "x", "--", "no-such-program"], /Cannot run 'no-such-program' as there is no such command/],
  [["replay", "hi", "--", "no-such-program"], /'no-such-program' as there is no such command/],
  [["record", "--fixture", "hi", ...command()], /a tape exists/],
  [["record", "agent.ts", ...command()], /Cannot record 'agent\.ts' and a command: leave one of them out/],
  [["replay", "hi", "own", ...command()], /Cannot run a command on 2 fixtures: crochet replay NAME -- COMMAND/],
  [["replay", ...command()], /Cannot run a command on 0 fixtures/],
  [["replay", "high", ...command()], /no such fixture: did you mean 'hi'/],
  [
    ["replay", "own", "--trust", ...command()],
    /Cannot replay own with a command as it is of an agent: crochet replay own$/m,
  ],
  [["record", "--turns", "t.yaml", ...command()], /Cannot use --turns with a command as it is of an agent: leave it/],
  [["record", "--permission-mode", "plan", ...command()], /Cannot use --permission-mode with a command as it is of/],
  [["record", "--files", "input", "hi"], /Cannot use --files without a command as it is of another program: put that/],
  [
    ["record", "--tools", "loose", ...command()],
    /Cannot use --tools with a command .*: --loose lets results of its tools differ/,
  ],
  [["record", "--loose", "hi"], /Cannot use --loose without a command/],
  [["replay", "hi", "--update", ...command()], /Cannot use --update with a command as only what a fixture names/],
  [["replay", "hi", "--verify", ...command()], /Cannot use --verify with a command/],
  [["fixtures", "serve", "hi", "--token", "a/b"], /below 'a\/b': give --token letters/],
  [["fixtures", "serve", "hi", "--port", "x"], /--port x as it is not a whole number/],
  [["mcp", "weather"], /Cannot stand before no server: name one, as in crochet mcp weather -- /],
  [["tape", "record", ...command()], /Unknown command 'tape record': did you mean 'crochet record --'\?/],
  [["tape", "replay", "hi"], /Unknown command 'tape replay': did you mean 'crochet replay NAME --'\?/],
  [["tape", "serve", "hi"], /Unknown command 'tape serve': did you mean 'crochet fixtures serve'\?/],
  [["tape", "mcp", "hi"], /Unknown command 'tape mcp': did you mean 'crochet mcp'\?/],
  [["tape"], /Unknown command 'tape': did you mean 'crochet record -- COMMAND'\?/],
];

test("RECORD 1: what only the other kind of run takes is refused by name, and an old word names the new one, with 2", async () => {
  using here = await project();
  const tape = readFileSync(join(here.cwd, "fixtures/hi/tape.jsonl"), "utf8");
  const { command: _, ...header } = JSON.parse(tape.split("\n", 1)[0]!);
  put(here.cwd, { "fixtures/own/tape.jsonl": `${JSON.stringify({ ...header, agent: "../../agent.ts" })}\n` });
  for (const [words, why] of REFUSED) {
    const { code, out, err } = await here.run(...words);
    assert.match(err + out, why);
    assert.equal(code, 2, words.join(" "));
  }
  assert.equal(readFileSync(join(here.cwd, "fixtures/hi/tape.jsonl"), "utf8"), tape);
});

test(
  "a program that ends before its first request is reported as that, with where it ran if it lacks a module",
  async () => {
    using here = await project();
    const ended = "its program ended before its first request: exit 3\n      first\n      last\n";
    put(here.cwd, { "client.mjs": `console.error("first\\n\\nlast"); process.exit(3);` });
    const told = await here.run("replay", "hi", "--json", "--junit", "report.xml", ...command());
    assert.deepEqual([told.code, told.err], [1, ""]);
    assert.equal(JSON.parse(told.out).items[0].why, `Cannot replay hi as ${ended.trimEnd().replaceAll("\n  ", "\n")}`);
    assert.match(
      readFileSync(join(here.cwd, "report.xml"), "utf8"),
      /failures="1"[^]*before its first request: exit 3/,
    );
    put(here.cwd, { "client.mjs": `import "./gone.mjs";` });
    const lacks = await here.run("replay", "hi", ...command());
    assert.match(
      lacks.out,
      /request: exit 1\n[^]*gone\.mjs[^]*\n +it ran in \S+\/crochet-replay-\w+\n\nbroken: 1 fixture\n$/,
    );
    assert.doesNotMatch(lacks.out, /to record again/);
    const searched = await here.run("replay", "hi", "--faults", "2", ...command());
    assert.match(searched.out, /hi +0 +broken\n\n✗ hi[^]*before its first request: exit 1/);
  },
);

test(
  "a recording works in a folder of its own or in this directory, and a signal that ends it is told",
  async () => {
    using here = await project();
    put(here.cwd, { "input/note.txt": "note" });
    await using api = await scriptedServer([{ text: "a" }, { text: "b" }, { text: "c" }]);
    const record = (...args: string[]) => here.main(["record", ...args], { ANTHROPIC_BASE_URL: api.url });
    assert.equal((await record("--fixture", "input", "--files", "input", ...command())).code, 0);
    assert.equal(readFileSync(join(here.cwd, "fixtures/input/files/note.txt"), "utf8"), "note");
    assert.equal((await here.run("replay", "input", ...command())).code, 0);
    assert.equal((await record("--fixture", "here", "--files", "none", ...command())).code, 0);
    assert.deepEqual(readdirSync(join(here.cwd, "fixtures/here")), ["tape.jsonl"]);
    assert.equal((await here.run("replay", "here", ...command())).code, 0);
    put(here.cwd, { "client.mjs": `import { writeFileSync } from "node:fs"; writeFileSync("mark", "");${CLIENT}` });
    const there = (name: string) => existsSync(join(here.cwd, name));
    assert.deepEqual([(await here.run("replay", "input")).code, there("mark")], [1, false], "in its copy");
    assert.deepEqual([(await here.run("replay", "here")).code, there("mark")], [0, true], "a fact of the fixture");
    put(here.cwd, {
      "client.mjs": CLIENT.replace(
        "process.exit(",
        `process.kill(process.pid, "SIGTERM"); setTimeout(() => {}, 9e3);(`,
      ),
    });
    const killed = await record("--fixture", "killed", ...command());
    assert.equal(killed.code, 1);
    assert.match(killed.err, /\nthe command was ended by SIGTERM: the tape ends there, and so will a replay\n$/);
    const wrong: [args: string[], why: RegExp][] = [
      [["--files", "gone"], /Cannot work in 'gone' as there is no such folder/],
      [["--here"], /Unknown flag --here .*: did you mean 'crochet record --files none'\?/],
      [["--files", "."], /Cannot keep .* as the command runs client\.mjs, which is in it/],
    ];
    for (const [args, why] of wrong) {
      const { code, err } = await record("--fixture", "wrong", ...args, ...command());
      assert.match(err, why);
      assert.ok(code! > 0);
    }
  },
);

test("a tape of another program is shown and viewed as any other, which never runs its command", async () => {
  using here = await project();
  const shown = await here.run("fixtures", "show", "hi");
  assert.match(shown.out, /› hello\nhi there/);
  const viewed = await here.run("view", "hi", "--out", "page.html");
  assert.ok(viewed.code === 0 && existsSync(join(here.cwd, "page.html")), viewed.err);
});

test(
  "crochet replay runs the recorded command of today's program too, and --update records it again",
  async () => {
    using here = await project();
    const same = await here.run("replay");
    assert.deepEqual([same.code, same.err], [0, ""], same.out);
    assert.match(same.out, /^hi +held +1\/1 /m);
    assert.match((await here.run("replay", "--faults", "2", "--seed", "1")).out, /^hi +2 +held/m);
    put(here.cwd, { "client.mjs": CLIENT.replace('?? "hello"', '?? "goodbye"') });
    const changed = await here.run("replay", "--junit", "report.xml");
    assert.equal(changed.code, 1);
    assert.match(changed.out, /^hi +broken +0\/1 [^]*- hello\n +\+ goodbye\n[^]*\(crochet replay hi --update\)/m);
    assert.match(
      readFileSync(join(here.cwd, "report.xml"), "utf8"),
      /failures="1"[^]*<failure message="prompt: messages/,
    );
    await using api = await scriptedServer([{ text: "so long" }]);
    const renewed = await here.main(["replay", "--update"], { ANTHROPIC_BASE_URL: api.url });
    assert.equal(renewed.code, 0, renewed.out + renewed.err);
    assert.match(renewed.err, /^recording hi again: 1 call, /m);
    assert.match(renewed.out, /^hi +held +0 kept, 1 new /m);
    assert.equal((await here.run("replay", "hi")).code, 0);
    assert.match((await here.run("fixtures", "show", "hi")).out, /› goodbye\nso long/);
  },
);

test(
  "a fixture that cannot run is named, with exit code 2 and a case; so is that there is none",
  async () => {
    using here = await project();
    const report = () => readFileSync(join(here.cwd, "report.xml"), "utf8");
    put(here.cwd, { "more/stop.ts": "export default () => undefined;\n" });
    const hooked = await here.run("replay", "--hooks", "more");
    assert.equal(hooked.code, 2);
    assert.match(hooked.out, /Cannot replay hi with --hooks as it is of another program/);
    const untrusted = await here.main(["replay", "--junit", "report.xml"], { HOME: join(here.home, "other") });
    assert.equal(untrusted.code, 2);
    assert.match(untrusted.out, /✗ hi\n +Cannot replay as fixtures\/hi is not trusted/);
    assert.match(report(), /tests="1" failures="0" errors="1"[^]*name="hi"[^]*is not trusted/);
    mkdirSync(join(here.cwd, "fixtures/imported/it"), { recursive: true });
    cpSync(join(here.cwd, "fixtures/hi/tape.jsonl"), join(here.cwd, "fixtures/imported/it/tape.jsonl"));
    const below = await here.run("replay");
    assert.equal(below.code, 2);
    assert.match(
      below.out,
      /^hi +held[^]*✗ fixtures\/imported\/it\n +Cannot replay as fixtures\/imported\/it is not trusted/m,
    );
    assert.equal((await here.run("replay", "hi")).code, 0, "what is not named is not left out");
    rmSync(join(here.cwd, "fixtures"), { recursive: true });
    const none = await here.run("replay", "--junit", "report.xml");
    assert.equal(none.code, 2);
    assert.match(none.err, /Cannot replay as there is no fixture in fixtures\//);
    assert.match(report(), /tests="1" failures="0" errors="1"[^]*there is no fixture/);
  },
);

test("U16: what starts among the files of a fixture needs its trust: nothing of them runs before, not even a preload", async () => {
  using here = await project();
  const marks = 'await import("node:fs").then((fs) => fs.writeFileSync(process.env.MARK, ""));\n';
  put(join(here.cwd, "fixtures/hi/files"), { "client.mjs": marks, "bunfig.toml": 'preload = ["./client.mjs"]\n' });
  const mark = join(here.cwd, "pwned");
  const as = (home: string, ...args: string[]) =>
    here.main(["replay", "hi", ...args, ...command()], { HOME: home, MARK: mark });
  const other = join(here.home, "other");
  mkdirSync(other);
  const { code, out } = await as(other);
  assert.equal(code, 2);
  assert.match(out, /Cannot replay as fixtures\/hi is not trusted: .* run 'crochet trust', or add --trust/);
  assert.equal(existsSync(mark), false);
  await as(other, "--trust");
  assert.equal(existsSync(mark), true);
});

const skip = "Deno" in globalThis && "the launcher of Deno takes the signal for itself";

/** A tape that is served, until it is ended. */
async function served({ cwd, home }: Awaited<ReturnType<typeof project>>, ...flags: string[]) {
  const { said, kill } = start([...CROCHET, "fixtures", "serve", "hi", ...flags], { cwd, env: { HOME: home } });
  const ready = /^ready (\S+)\n/;
  await until("it is ready", () => ready.test(said.out));
  return { url: ready.exec(said.out)![1]!, end: () => kill("SIGINT") };
}

const asked = (url: string) =>
  fetch(`${url}/anthropic/v1/messages`, {
    method: "POST",
    headers: { "anthropic-version": "2023-06-01" },
    body: JSON.stringify({ model: "m", max_tokens: 9, messages: [{ role: "user", content: "hello" }], stream: true }),
  });

test(
  "serve prints an address that cannot be guessed, and --token fixes it; it answers there alone, and reports when it is ended",
  {
    skip,
  },
  async () => {
    using here = await project();
    const addresses = [[[], /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}$/], [["--token", "ci"], /:\d+\/ci$/]] as const;
    for (const [flags, known] of addresses) {
      const { url, end } = await served(here, ...flags);
      assert.match(url, known);
      assert.equal((await asked(new URL(url).origin)).status, 404);
      assert.match(await (await asked(url)).text(), /^event: message_start\n/);
      const { code, err } = await end();
      assert.equal(code, 0, err);
      assert.match(err, /✓ hi/);
    }
  },
);
