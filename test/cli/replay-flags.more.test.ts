import assert from "node:assert/strict";
import { cpSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, homedir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Command } from "../../lib/cli/kit/io.ts";
import fixtures from "../../lib/cli/fixtures.ts";
import replay from "../../lib/cli/replay.ts";
import { scriptedServer } from "../../lib/testing/index.ts";
import { CROCHET } from "../_crochet.ts";
import { type Place, place } from "../_place.ts";
import { NO_PTY, Pty } from "../_pty.ts";
import { record, SYSTEM, tapeText, TEA } from "../_record.ts";
import { agentOn, agentScript, HOOK } from "./_recorded.ts";

const PROJECT = { ...TEA, "agent.ts": agentScript(SYSTEM), "hooks/stop.ts": HOOK };

/** A project with one fixture; a script that is put in the place of its agent is loaded when it is replayed. */
async function recorded(files: Record<string, string> = {}, asked: Parameters<typeof record>[1] = {}): Promise<Place> {
  const here = place({ ...PROJECT, ...files });
  await record(here.cwd, asked);
  return here;
}

function copies(here: Place, names: readonly string[]): void {
  const folder = join(here.cwd, "fixtures");
  for (const name of names) cpSync(join(folder, "fix-the-typo"), join(folder, name), { recursive: true });
}

test("replay --update says what it costs, records again from the first difference, and refuses in CI", async () => {
  await using server = await scriptedServer([{ text: "There is nothing to do." }]);
  using here = await recorded();
  here.put({ "agent.ts": agentOn(server, SYSTEM.replace("brief", "very brief")) });
  here.env.CI = "true";
  const refused = await here.call(replay, "--trust", "--update");
  assert.equal(refused.code, 2);
  assert.match(refused.out, /Cannot update as CI is set, .*: update fix-the-typo on your machine/);
  assert.equal(refused.err, "", "nothing is announced that is then not done");
  here.env.CI = undefined;
  const { code, out, err } = await here.call(replay, "--trust", "--update");
  assert.equal(code, 0, out + err);
  assert.equal(err, "recording fix-the-typo again: 4 calls, 60 tokens, < $0.01\n");
  assert.match(out, /fix-the-typo +held +0 kept, 1 new/);
  server.done();
  assert.equal((await here.call(replay, "--trust")).code, 0);
});

test("replay --update of what 'record --tools' made works in the directory itself, as that did", async () => {
  const brew = { tools: [{ name: "Bash", input: { command: "echo brewed > cup.md" } }] };
  await using server = await scriptedServer([brew, { text: "brewed" }]);
  using here = await recorded({}, { tools: true });
  here.put({ "agent.ts": agentOn(server, "You brew.") });
  const { code, out, err } = await here.call(replay, "--trust", "--update");
  assert.equal(err, "recording fix-the-typo again in this directory: 4 calls, 60 tokens, < $0.01\n");
  assert.equal(code, 0, out);
  assert.equal(readFileSync(join(here.cwd, "cup.md"), "utf8"), "brewed\n");
  const tools = tapeText(here.cwd).split("\n").filter((line) => line.startsWith('{"tool"')).map((one) =>
    JSON.parse(one)
  );
  assert.deepEqual(tools.map(({ name, files }) => [name, files]), [["Bash", { "cup.md": "brewed\n" }]]);
  assert.equal((await here.call(replay, "--trust")).code, 0);
});

test("replay --hooks adds those of a folder, and the command that records again has them", async () => {
  const more = "export default (e) => e.stop_hook_active ? undefined : { action: 'deny', reason: 'Say more' };\n";
  using here = await recorded({ "more/stop.more.ts": more });
  const { code, out } = await here.call(replay, "--trust", "--hooks", "more");
  assert.equal(code, 1);
  assert.match(out, /the run continues after its last recorded call/);
  assert.match(out, /\(crochet replay \S+ --hooks more --update\)/);
});

test("replay --normalise lets a difference pass, and names it", async () => {
  using here = await recorded();
  here.put({ "agent.ts": agentScript(SYSTEM.replace("typos", "97 typos")) });
  const rule = ["--normalise", "count=system=(97 )?typos"];
  const { code, out } = await here.call(replay, "--trust", ...rule);
  assert.equal(code, 0, out);
  assert.match(out, /\n\nfix-the-typo\n +ignored: count \(\/\(97 \)\?typos\/ at system\)\n\nheld: 1 fixture\n$/);
  const kept = await here.call(replay, "--trust", ...rule, "--update");
  assert.deepEqual([kept.code, kept.err], [0, ""], kept.out);
  assert.equal((await here.call(replay, "--trust")).code, 0);
});

test("what changed for many fixtures is shown in one, and data has all of it", async () => {
  using here = await recorded();
  copies(here, ["more"]);
  here.put({ "agent.ts": agentScript(SYSTEM.replace("brief", "long")) });
  const { out } = await here.call(replay, "--trust", "more", "fix-the-typo", "fixtures");
  assert.deepEqual([...out.matchAll(/^(\S+) +broken/gm)].map(([, name]) => name), ["more", "fix-the-typo"]);
  assert.match(out, /✗ more\n {2}prompt: system is not .* \(at main#1\)\n {4}line 2\n {4}- You are brief\.\n/);
  assert.match(
    out,
    /✗ fix-the-typo\n {2}prompt: system is not what was recorded, as in more \(at main#1\)\n {2}not req/,
  );
  const { items: data } = JSON.parse((await here.call(replay, "--trust", "--json")).out);
  assert.deepEqual(
    data.map((one: any) => one.report.divergences[0].words),
    Array(2).fill("system is not what was recorded"),
  );
});

test("replay refuses what it cannot do before it begins, and suggests the nearest name for a mistyped one", async () => {
  using w = place({ "fixtures/hello/tape.jsonl": "{}\n", "packages/a/fixtures/greet/tape.jsonl": "{}\n" });
  w.put({ "bare/.claude/settings.json": "{}", "tea.md": "", "fixtures/other.jsonl": "{}\n" });
  const cases: [command: Command, words: string[], why: RegExp][] = [
    [
      replay,
      ["--hooks", "nowhere"],
      /^Cannot take hooks from 'nowhere' as there is no such folder: name one with --hooks$/,
    ],
    [
      replay,
      ["--hooks", "bare"],
      /^Cannot take hooks from 'bare' as it has no hooks: name the folder that has the files$/,
    ],
    [
      replay,
      ["--hooks", "tea.md"],
      /^Cannot take hooks from 'tea.md' as that is a file: name the folder that it is in with --hooks$/,
    ],
    [replay, ["hello", "--faults", "0"], /^Cannot search 0 schedules .* not a number above 0: --faults 100$/],
    [replay, ["--faults", "helo"], /or a preset: did you mean 'hello'\?$/],
    [replay, ["--faults", "overloded"], /or a preset: did you mean 'overloaded'\?$/],
    [replay, ["--verify", "--update"], /^Cannot use --update with --verify as /],
    ...["word", "=system=x", "word==x", "word=system=("].map((rule): [Command, string[], RegExp] => [
      replay,
      ["--normalise", rule],
      /^Cannot (read --normalise|use (a )?normaliser)/,
    ]),
    [replay, ["helo"], /no such fixture: did you mean 'hello'\?$/],
    [replay, ["fixtures/helol"], /no such fixture: did you mean 'hello'\?$/],
    [replay, ["packages/a/fixtures/gret"], /no such fixture: did you mean 'packages\/a\/fixtures\/greet'\?$/],
    [replay, ["goodbye"], /no such fixture: crochet record <agent\.ts> "<prompt>" --fixture goodbye$/],
    [replay, ["fixtures/other.jsonl"], /^Cannot replay 'fixtures\/other.jsonl' as it is not the tape of a fixture/],
    [replay, ["fixtures/no.jsonl"], /^Cannot replay 'fixtures\/no.jsonl' as it is not the tape of a fixture/],
    [fixtures, ["show", "helo"], /no such fixture: did you mean 'hello'\?$/],
    [fixtures, ["show", "nothing"], /^Cannot show 'nothing' as there is no such fixture: crochet fixtures ls$/],
  ];
  for (const [command, words, why] of cases) {
    const { code, out, err } = await w.call(command, ...words);
    assert.match(err.slice("crochet: ".length, -1), why, words.join(" "));
    assert.deepEqual([code, out], [2, ""], words.join(" "));
  }
});

test("a fixture may be named like a tape, a project stands for its fixtures, and none is not success", async () => {
  const tape = { "fixtures/a.jsonl/tape.jsonl": "{}\n", "fixtures/b/tape.jsonl": "{}\n" };
  using w = place({ ...tape, "packages/black/fixtures/fix/tape.jsonl": "{}\n" });
  for (const given of ["a.jsonl", "fixtures/a.jsonl", "fixtures/a.jsonl/tape.jsonl"]) {
    const { out } = await w.call(replay, "--trust", given, "--json");
    assert.deepEqual(JSON.parse(out).items.map(({ name }: { name: string }) => name), ["a.jsonl"], given);
  }
  const project = await w.call(replay, "--trust", "packages/black");
  assert.match(project.out, /^fixture.*\npackages\/black\/fixtures\/fix +cannot run /);
  rmSync(join(w.cwd, "fixtures"), { recursive: true });
  for (const files of [{}, { fixtures: "a file" }]) {
    w.put(files);
    const none = await w.call(replay);
    assert.equal(none.code, 2);
    assert.match(
      none.err,
      /^crochet: Cannot replay as there is no fixture in fixtures\/: crochet record agent\.ts "<prompt>"\n$/,
    );
  }
});

test("replay refuses a JUnit report that cannot be written before anything runs", async () => {
  using w = place({ "fixtures/b/tape.jsonl": "{}\n" });
  const made = await w.call(replay, "--trust", "--junit", "reports/new/b.xml");
  assert.equal(made.err, "");
  assert.match(readFileSync(join(w.cwd, "reports/new/b.xml"), "utf8"), /<testcase classname="fixtures" name="b"/);
  const { code, out, err } = await w.call(replay, "--trust", "--junit", "reports");
  assert.deepEqual([code, out], [2, ""]);
  assert.match(err, /^crochet: Cannot write --junit reports as that is a folder: name a file that can be written\n$/);
});

test("fixtures of one name in several packages are reported by their paths, which name them", async () => {
  using here = await recorded();
  for (const name of ["black", "green"]) {
    for (const part of ["fixtures", "hooks"]) {
      cpSync(join(here.cwd, part), join(here.cwd, `packages/${name}/${part}`), { recursive: true });
    }
    here.put({ [`packages/${name}/agent.ts`]: agentScript(name === "black" ? SYSTEM : `${SYSTEM} Green.`) });
  }
  const both = ["packages/black/fixtures", "packages/green/fixtures"];
  const { out } = await here.call(replay, "--trust", ...both, "--junit", "report.xml");
  assert.match(out, /^packages\/black\/fixtures\/fix\S+ +held .*\npackages\/green\/fixtures\/fix\S+ +broken /m);
  assert.match(out, /\n✗ packages\/green\/fixtures\/fix-the-typo\n/);
  assert.deepEqual(
    [...readFileSync(join(here.cwd, "report.xml"), "utf8").matchAll(/ name="(p\S+)"/g)].map(([, name]) => name),
    both.map((folder) => `${folder}/fix-the-typo`),
  );
  // In a process of its own it would be named from the project.
  const [, named] = /\(crochet replay \S+\/(packages\S+) --update\)/.exec(out)!;
  const alone = await here.call(replay, "--trust", named!);
  assert.match(alone.out, /^fixture.*\npackages\/green\/fixtures\/fix-the-typo +broken .*\n\n/);
});

test("an agent that was moved is found again by what the refusal says", async () => {
  using here = await recorded();
  const tape = join(here.cwd, "fixtures/fix-the-typo/tape.jsonl");
  here.put({ "src/agent.ts": agentScript(SYSTEM), "src/hooks/stop.ts": HOOK });
  rmSync(join(here.cwd, "agent.ts"));
  const gone = `${join(here.cwd, "agent.ts")} is not there any more: put it back, or let "agent" in the first line`;
  const { out } = await here.call(replay, "--trust");
  assert.ok(out.includes(`${gone} of ${tape} say`), out);
  here.put({
    "fixtures/fix-the-typo/tape.jsonl": readFileSync(tape, "utf8").replace("../../agent.ts", "../../src/agent.ts"),
  });
  assert.equal((await here.call(replay, "--trust")).code, 0);
});

test("a file that names the home directory of its recording is not a changed file elsewhere", async () => {
  using here = await recorded({ "tea.md": `kept in ${homedir()}/tea\n` }, { replies: [{ text: "Hello." }] });
  const elsewhere = await here.crochet(["replay", "--trust"]);
  assert.equal(elsewhere.code, 0, elsewhere.out);
  here.put({ "fixtures/fix-the-typo/files/tea.md": "kept here\n" });
  assert.match((await here.call(replay, "--trust")).out, /tea\.md is changed/);
});

test("a tape that is shown away from its own folder has its long texts of the project's, and names those that are gone", async () => {
  const long = "a long line of tea\n".repeat(1_500);
  using here = await recorded({}, { replies: [{ text: long }], fixture: "it" });
  const tape = tapeText(here.cwd, "it");
  const [, blob = ""] = /"\$blob":"([0-9a-f]{64})"/.exec(tape)!;
  // As git names the file of an earlier one, and as older releases of it do.
  here.put({ "away/x/tape.jsonl": tape, "away/Ab12Cd_tape.jsonl": tape });
  const shown = await here.call(fixtures, "show", "it");
  for (const name of ["x/tape.jsonl", "Ab12Cd_tape.jsonl"]) {
    assert.equal((await here.call(fixtures, "show", `away/${name}`)).out, shown.out, name);
  }
  assert.ok(shown.out.includes(long.trimEnd()));
  rmSync(join(here.cwd, "fixtures/blobs", blob));
  const lacking = await here.call(fixtures, "show", "away/x/tape.jsonl");
  assert.ok(lacking.out.includes(`blobs/${blob} is not here`), lacking.out + lacking.err);
  const { out } = await here.call(replay, "--trust");
  assert.match(out, /a long text of it is missing/, "nothing is replayed from it");
});

test("a replay that is interrupted never looks like drift, and says what it left out", async () => {
  using here = await recorded();
  const many = 2 * availableParallelism() + 1;
  copies(here, Array.from({ length: many }, (_, i) => `copy-${i}`));
  // Once, though two replays run at a time: a second signal ends the process at once.
  const interrupts = `export default async () => {
    globalThis.interrupted ??= process.kill(process.pid, "SIGINT");
    await new Promise((end) => setTimeout(end, 200));
  };\n`;
  here.put({ "hooks/stop.ts": interrupts });
  const { code, out, err } = await here.crochet(["replay", "--update", "--trust"]);
  assert.equal(code, 130);
  assert.match(out, /^not measured: \d+ /m);
  assert.doesNotMatch(out, /drift|to record again/);
  assert.match(err, new RegExp(`^crochet: interrupted: \\d+ of ${many + 1} were not judged\n$`));
});

test("the line of progress is always written over whole, however long a name is, and never gets into a file", {
  ...(NO_PTY !== undefined && { skip: NO_PTY }),
}, async () => {
  using here = await recorded();
  const long = `${"名".repeat(40)}${"x".repeat(60)}`;
  copies(here, [long]);
  const replayed = async (behind: string, env: Record<string, string> = {}) => {
    await using terminal = new Pty([...CROCHET, "replay", "--trust"], {
      cwd: here.cwd,
      env: { HOME: here.home, ...env },
      columns: 50,
      behind,
    });
    assert.equal(await terminal.end(), 0);
    return { raw: terminal.raw, rows: (await terminal.screen()).split("\n") };
  };
  const { raw, rows } = await replayed("");
  const lines = raw.split("\r\u001b[K");
  assert.ok(lines.some((line) => /^[12]\/2 fix-the-typo$/.test(line)), raw);
  assert.ok(lines.some((line) => /^[12]\/2 名{22}…$/.test(line)), raw);
  assert.match(rows[0]!, /^fixture +$/, rows.join("\n"));
  const dumb = await replayed("", { TERM: "dumb" });
  assert.equal(dumb.raw.includes("\u001b"), false, dumb.raw);
  await replayed(`2> ${join(here.cwd, "err.txt")}`);
  assert.equal(readFileSync(join(here.cwd, "err.txt"), "utf8"), "");
});
