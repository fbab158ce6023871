import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { keepFiles } from "../../lib/replay/record/keep-files.ts";
import { scriptedServer } from "../../lib/testing/index.ts";
import { ended } from "../_crochet.ts";
import { place } from "../_place.ts";
import { OUR_RUNTIME } from "../_runtime.ts";
import { scratch } from "../_scratch.ts";
import { agentScript, asked, HOOK, LONG, MAIN, recorded, SYSTEM } from "./_recorded.ts";

test(
  "U16: record never keeps a file that shows a secret, and says so; scan finds those that came otherwise",
  LONG,
  async () => {
    using here = place();
    here.put({
      "agent.ts": agentScript(SYSTEM),
      "hooks/stop.ts": HOOK,
      ".env": "COLOUR=green\n",
      "app/.env.local": "COLOUR=green\n",
      ".env.example": "COLOUR=\n",
      "notes/deep/log.txt": "it said correct-horse-battery\n",
      "notes/plain.txt": "nothing\n",
      "notes/correct-horse-battery.txt": "nothing\n",
    });
    await using server = await scriptedServer([{ text: "Hello." }, { text: "Hello again." }]);
    const env = { ...asked(server), MY_TOKEN: "correct-horse-battery" };
    const { code, err } = await here.crochet(["record", "agent.ts", "say hello"], env);
    assert.equal(code, 0, err);
    assert.deepEqual(err.trim().split("\n").sort(), [
      ".env is not kept with the fixture: it is a file for secrets",
      "app/.env.local is not kept with the fixture: it is a file for secrets",
      "notes/correct-horse-battery.txt is not kept with the fixture: its name shows the value of the environment variable MY_TOKEN",
      "notes/deep/log.txt is not kept with the fixture: it shows the value of the environment variable MY_TOKEN",
    ]);
    const kept = (path: string) => existsSync(join(here.cwd, "fixtures/say-hello/files", path));
    assert.deepEqual(
      [".env", "app/.env.local", "notes/deep/log.txt", ".env.example", "notes/plain.txt"].map(kept),
      [false, false, false, true, true],
    );
    const named = await here.crochet(["record", "agent.ts", "say correct-horse-battery", "--redact", "--json"], env);
    assert.equal(JSON.parse(named.out).fixture, "fixtures/say-secret-my-token", named.err);
    assert.equal((await here.crochet(["fixtures", "scan"], env)).code, 0);
    here.put({ "fixtures/say-hello/files/data.jsonl": "correct-horse-battery\n" });
    const scan = await here.crochet(["fixtures", "scan"], env);
    assert.equal(scan.code, 1);
    assert.match(
      scan.out,
      /^fixtures\/say-hello\/files\/data\.jsonl: line 1: the value of the environment variable MY_TOKEN\n/,
    );
  },
);

test("recording reports files that git ignores: a clone could not replay it", LONG, async () => {
  using here = place({ "built/out.txt": "tea\n", ".gitignore": "built/\n" });
  await recorded(here, ["--fixture", "before"]); // without git nothing is reported
  execFileSync("git", ["init", "-q", here.cwd]);
  here.put({ "agent.ts": `${agentScript(SYSTEM)}${MAIN}` });
  await using server = await scriptedServer([], { then: { text: "Hello." } });
  const told = (name: string) =>
    `git ignores fixtures/${name}/files/built/out.txt, without which a clone cannot replay it: git add --force fixtures/${name}\n`;
  const { code, err } = await here.crochet(["record", "agent.ts", "hi", "--fixture", "after"], asked(server));
  assert.deepEqual([code, err], [0, `crochet: ${told("after")}`]);
  const env = { HOME: here.home, ...asked(server), CROCHET_TAPE: "fixtures/x", CROCHET_TAPE_MODE: "record" };
  const run = await ended([...OUR_RUNTIME, join(here.cwd, "agent.ts"), "hi"], { cwd: here.cwd, env });
  assert.deepEqual([run.code, run.err], [0, `crochet: ${told("x")}`]);
});

test("U16: record refuses a script outside the project, as no replay would run it", async () => {
  using here = place({ "../home/tools/agent.ts": agentScript(SYSTEM) });
  const { code, err } = await here.crochet(["record", join(here.home, "tools/agent.ts"), "say hello"]);
  assert.equal(code, 2);
  assert.match(err, /a replay runs only scripts of the project/);
});

test("record keeps links that stay in the workspace, and says which ones it does not keep", LONG, async () => {
  using here = place();
  here.put({
    "agent.ts": agentScript(SYSTEM),
    "hooks/stop.ts": HOOK,
    "AGENTS.md": "Be brief.\n",
    "docs/a.md": "a\n",
    "../outside.md": "private\n",
  });
  const links = {
    "CLAUDE.md": "AGENTS.md",
    "docs/up.md": "../AGENTS.md",
    "broken": "nowhere",
    "manual": "docs",
    "out": "../outside.md",
    "absolute": join(here.cwd, "AGENTS.md"),
  };
  for (const [path, to] of Object.entries(links)) symlinkSync(to, join(here.cwd, path));
  await using server = await scriptedServer([
    { tools: [{ name: "Bash", input: { command: "cat CLAUDE.md manual/up.md; ls out absolute" } }] },
    { text: "Hello." },
  ]);
  const { code, err } = await here.crochet(["record", "agent.ts", "look"], asked(server));
  assert.equal(code, 0, err);
  assert.deepEqual(err.trim().split("\n").sort(), [
    `absolute is not kept with the fixture: it is a link to ${join(here.cwd, "AGENTS.md")}`,
    `out is not kept with the fixture: it is a link to ${join(here.cwd, "../outside.md")}`,
  ]);
  const files = join(here.cwd, "fixtures/look/files");
  for (const path of ["CLAUDE.md", "docs/up.md", "broken", "manual"] as const) {
    assert.equal(readlinkSync(join(files, path)), links[path]);
  }
  const tape = readFileSync(join(here.cwd, "fixtures/look/tape.jsonl"), "utf8");
  assert.ok(tape.includes('"Exit code 2\\nBe brief.\\nBe brief.\\nls: cannot access'), tape);
  const replayed = await here.crochet(["replay", "--trust"]);
  assert.equal(replayed.code, 0, replayed.out);
});

test("a file that names the home directory of its recording is not a changed file elsewhere", LONG, async () => {
  using here = place();
  here.put({ "agent.ts": agentScript(SYSTEM), "hooks/stop.ts": HOOK, "tea.md": `kept in ${here.home}/tea\n` });
  await using server = await scriptedServer([{ text: "Hello." }]);
  const { code, err } = await here.crochet(["record", "agent.ts", "hi"], asked(server));
  assert.equal(code, 0, err);
  const elsewhere = { HOME: join(here.cwd, "..") };
  assert.equal((await here.crochet(["replay", "--trust"], elsewhere)).code, 0);
  here.put({ "fixtures/hi/files/tea.md": "kept here\n" });
  assert.match((await here.crochet(["replay", "--trust"], elsewhere)).out, /tea\.md is changed/);
});

test(
  "--normalise without --update leaves the tape alone, lets nothing else through, and is checked first",
  LONG,
  async () => {
    using here = place();
    await recorded(here);
    here.put({
      "agent.ts": agentScript(SYSTEM),
      "fixtures/fix-the-typo/files/tea.md": "over teh leaves replayed\n",
    });
    const tape = join(here.cwd, "fixtures/fix-the-typo/tape.jsonl");
    const before = readFileSync(tape, "utf8");
    assert.equal((await here.crochet(["replay", "--trust"])).code, 1);
    const rule = "word=messages.**= replayed";
    const once = await here.crochet(["replay", "--trust", "--normalise", rule]);
    assert.equal(once.code, 1, "what is left of the line differs still");
    assert.match(once.out, /ignored: word \(\/ replayed\/ at messages\.\*\*\)/);
    assert.equal(readFileSync(tape, "utf8"), before);

    for (const wrong of ["word", "=system=x", "word==x", "word=system=("]) {
      const { code, err } = await here.crochet(["replay", "--trust", "--normalise", wrong]);
      assert.deepEqual([code, /^crochet: Cannot (read --normalise|use (a )?normaliser)/.test(err)], [2, true], err);
    }
  },
);

test(
  "a difference that was declared when it was recorded stays declared, and one can be added later",
  LONG,
  async () => {
    using here = place();
    const env = async (replies: string[], args: string[]) => {
      await using server = await scriptedServer(replies.map((text) => ({ text })));
      return await here.crochet(args, asked(server));
    };
    const agent = (system: string) => ({
      "agent.ts": agentScript(system),
      "hooks/stop.ts": HOOK,
    });
    here.put(agent("Today is Monday. Room 1."));
    const recording = await env(["Hello."], ["record", "agent.ts", "hi", "--normalise", "day=system=\\w+day"]);
    assert.equal(recording.code, 0, recording.err);
    here.put(agent("Today is Friday. Room 1."));
    const named =
      /^fixture +result +calls +time\nhi +ok +1\/1 +\d+ ms\n\nhi\n +ignored: day \(\/\\w\+day\/ at system\)\n$/;
    const friday = await here.crochet(["replay", "--trust"]);
    assert.equal(friday.code, 0, friday.out);
    assert.match(friday.out, named);

    here.put(agent("Today is Friday. Room 2."));
    assert.equal((await here.crochet(["replay", "--trust"])).code, 1);
    const room = ["replay", "--trust", "--normalise", "room=system=Room \\d"];
    assert.equal((await here.crochet(room)).code, 0);
    assert.equal((await here.crochet(["replay", "--trust"])).code, 1, "it was for once");
    const kept = await env([], [...room, "--update"]);
    assert.deepEqual([kept.code, kept.err], [0, ""], kept.out);
    const now = await here.crochet(["replay", "--trust", "--json"]);
    assert.equal(now.code, 0);
    assert.deepEqual(JSON.parse(now.out)[0].report.normalise.map(({ name }: { name: string }) => name), [
      "day",
      "room",
    ]);
    here.put(agent("Today is Friday. Room 2!"));
    assert.equal((await here.crochet(["replay", "--trust"])).code, 1, "nothing else is let through");
  },
);

test("a file that cannot be read is left out of a recording, and reported", {
  skip: process.platform === "linux" ? false : "a name that is not in UTF-8 cannot be given here",
}, () => {
  using from = scratch({ "tea.md": "tea", "locked/x": "x", "nope": "n" });
  using to = scratch();
  execFileSync("sh", ["-c", "printf x > \"$(printf 'bad\\377')\""], { cwd: from.path });
  for (const path of ["locked", "nope"]) chmodSync(join(from.path, path), 0);
  try {
    const told = keepFiles(from.path, to.path, []).map(({ path, why }) => `${path}: ${why}`).sort();
    const locked = process.getuid?.() === 0
      ? []
      : ["locked: you have no permission to read it", "nope: you have no permission to read it"];
    assert.deepEqual(told, ["bad\ufffd: its name is not in UTF-8", ...locked]);
    assert.equal(readFileSync(join(to.path, "files/tea.md"), "utf8"), "tea");
  } finally {
    for (const path of ["locked", "nope"]) chmodSync(join(from.path, path), 0o700);
  }
});
