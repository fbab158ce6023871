import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { scriptedServer } from "../../lib/testing/server.ts";
import { CROCHET, start } from "../_crochet.ts";
import { place } from "../_place.ts";
import { RUNTIME } from "../_runtime.ts";
import { put } from "../_scratch.ts";
import { until } from "../_until.ts";

const CLIENT = `
const messages = [{ role: "user", content: process.argv[2] ?? "hello" }];
const headers = { "x-api-key": "k", "anthropic-version": "2023-06-01" };
const body = JSON.stringify({ model: "m", max_tokens: 9, messages, stream: true });
const response = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", headers, body });
console.log(response.status, process.env.CROCHET_TAPE_URL !== undefined);
process.exit(response.ok ? 0 : 7);`;

const command = (...words: string[]) => ["--", ...RUNTIME, "client.mjs", ...words];

async function project() {
  const here = place({ "client.mjs": CLIENT });
  await using api = await scriptedServer([{ text: "hi there" }]);
  const words = ["tape", "record", "--fixture", "hi", ...command()];
  const { code, err } = await here.main(words, { ANTHROPIC_BASE_URL: api.url });
  assert.equal(code, 0, err);
  assert.match(err, /recorded fixtures\/hi: exit 0, 1 call/);
  return { ...here, run: (...args: string[]) => here.main(args) };
}

test("a recorded command replays, shows its drift with exit code 1, and mistakes with exit code 2", async () => {
  using here = await project();
  // A process, as the program shares its stdout; so below.
  const same = await here.crochet(["tape", "replay", "hi", ...command()]);
  assert.deepEqual([same.code, same.out], [0, "200 true\n"], same.err);
  assert.match(same.err, /✓ hi 1\/1 calls\n {2}not compared: stream/);
  assert.match(same.err, /^ {2}not compared: stdout, files$/m);
  const other = await here.run("tape", "replay", "hi", "--json", "--junit", "report.xml", ...command("goodbye"));
  assert.equal(other.code, 1);
  assert.match(
    other.err,
    /prompt: messages\.0\.content\.0\.text is not what was recorded \(at main#1\)\n {4}- hello\n {4}\+ goodbye/,
  );
  const { word, items: [{ report }] } = JSON.parse(other.out.trim().split("\n").at(-1)!);
  assert.deepEqual([word, report.ok, report.unused], ["broken", false, ["main#1"]]);
  assert.match(readFileSync(join(here.cwd, "report.xml"), "utf8"), /<failure message="prompt: messages\.0/);
  const wrong = [
    [["replay", "hi"], /none is named: put it behind '--'/],
    [["replay", "high", ...command()], /no such fixture: did you mean 'hi'/],
    [["replay", "hi", "--without", "dates", ...command()], /no such rule: account/],
    [["replay", "hi", "--", "no-such-program"], /'no-such-program' as there is no such command/],
    [["record", "--fixture", "hi", ...command()], /a tape exists/],
    [["serve", "hi", "--token", "a/b"], /below 'a\/b': give --token letters/],
    [["serve", "hi", "--port", "x"], /--port x as it is not a whole number/],
  ] as const;
  for (const [words, why] of wrong) {
    const { code, err } = await here.run("tape", ...words);
    assert.match(err, why);
    assert.equal(code, 2, err);
  }
});

test(
  "a program that ends before its first request is reported as that, with where it ran if it lacks a module",
  async () => {
    using here = await project();
    const ended = "its program ended before its first request: exit 3\n      first\n      last\n";
    put(here.cwd, { "client.mjs": `console.error("first\\n\\nlast"); process.exit(3);` });
    const told = await here.crochet(["tape", "replay", "hi", "--json", "--junit", "report.xml", ...command()]);
    assert.deepEqual([told.code, told.err], [1, `first\n\nlast\n✗ hi\n  Cannot replay hi as ${ended}`]);
    assert.equal(JSON.parse(told.out).items[0].why, `Cannot replay hi as ${ended.trimEnd().replaceAll("\n  ", "\n")}`);
    assert.match(
      readFileSync(join(here.cwd, "report.xml"), "utf8"),
      /failures="1"[^]*before its first request: exit 3/,
    );
    put(here.cwd, { "client.mjs": `import "./gone.mjs";` });
    const lacks = await here.run("tape", "replay", "hi", ...command());
    assert.match(
      lacks.err,
      /request: exit 1\n[^]*gone\.mjs[^]*\n +it ran in \S+\/crochet-replay-\w+\nbroken: 1 fixture\n$/,
    );
    assert.doesNotMatch(lacks.err, /to record again/);
    const searched = await here.run("tape", "replay", "hi", "--faults", "2", ...command());
    assert.match(searched.err, /hi +0 +broken\n\n✗ hi[^]*before its first request: exit 1/);
  },
);

test(
  "a recording works in a folder of its own or in this directory, and a signal that ends it is told",
  async () => {
    using here = await project();
    put(here.cwd, { "input/note.txt": "note" });
    await using api = await scriptedServer([{ text: "a" }, { text: "b" }, { text: "c" }]);
    const record = (...args: string[]) => here.main(["tape", "record", ...args], { ANTHROPIC_BASE_URL: api.url });
    assert.equal((await record("--fixture", "input", "--files", "input", ...command())).code, 0);
    assert.equal(readFileSync(join(here.cwd, "fixtures/input/files/note.txt"), "utf8"), "note");
    assert.equal((await here.run("tape", "replay", "input", ...command())).code, 0);
    assert.equal((await record("--fixture", "here", "--here", ...command())).code, 0);
    assert.deepEqual(readdirSync(join(here.cwd, "fixtures/here")), ["tape.jsonl"]);
    assert.equal((await here.run("tape", "replay", "here", "--here", ...command())).code, 0);
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
      [["--files", "none"], /Cannot work in 'none' as there is no such folder/],
      [["--files", "input", "--here"], /Cannot use --files with --here/],
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
    writeFileSync(join(here.cwd, "client.mjs"), CLIENT.replace('?? "hello"', '?? "goodbye"'));
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
    mkdirSync(join(here.cwd, "more"));
    writeFileSync(join(here.cwd, "more/stop.ts"), "export default () => undefined;\n");
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
  mkdirSync(join(here.cwd, "fixtures/hi/files"), { recursive: true });
  writeFileSync(
    join(here.cwd, "fixtures/hi/files/client.mjs"),
    'await import("node:fs").then((fs) => fs.writeFileSync(process.env.MARK, ""));\n',
  );
  writeFileSync(join(here.cwd, "fixtures/hi/files/bunfig.toml"), 'preload = ["./client.mjs"]\n');
  const mark = join(here.cwd, "pwned");
  const as = (home: string, ...args: string[]) =>
    here.main(["tape", "replay", "hi", ...args, ...command()], { HOME: home, MARK: mark });
  const other = join(here.home, "other");
  mkdirSync(other);
  const { code, err } = await as(other);
  assert.equal(code, 2);
  assert.match(err, /Cannot replay as fixtures\/hi is not trusted: .* run 'crochet trust', or add --trust/);
  assert.equal(existsSync(mark), false);
  await as(other, "--trust");
  assert.equal(existsSync(mark), true);
});

const skip = "Deno" in globalThis && "the launcher of Deno takes the signal for itself";

/** A tape that is served, until it is ended. */
async function served({ cwd, home }: Awaited<ReturnType<typeof project>>, ...flags: string[]) {
  const { said, kill } = start([...CROCHET, "tape", "serve", "hi", ...flags], { cwd, env: { HOME: home } });
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
