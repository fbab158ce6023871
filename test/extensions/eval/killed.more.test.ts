import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { CROCHET, start } from "../../_crochet.ts";
import type { Place } from "../../_place.ts";
import { NO_PTY, Pty } from "../../_pty.ts";
import { until } from "../../_until.ts";
import { evaluated, tossed } from "./_tossed.ts";

const OUTCOMES = "PPFPLPFPPPLFPP";

const ended = ({ cwd }: Place) => {
  const log = `${cwd}/.crochet/evals/last/runs.jsonl`;
  return existsSync(log) ? readFileSync(log, "utf8").split("\n").length - 1 : 0;
};

/** Starts an eval in a process of its own, and ends it while the run after the n-th is on. */
async function endedAfter(w: Place, n: number, signal: NodeJS.Signals, ...args: string[]) {
  const words = [...CROCHET, "eval", "--at-once", "1", ...args];
  const { kill } = start(words, { cwd: w.cwd, env: { HOME: w.home, TOSS_MS: "60" } });
  await until(`${n} runs`, () => ended(w) >= n);
  await new Promise((resolve) => setTimeout(resolve, 7 * n % 50));
  const { code, err } = await kill(signal);
  // The process of a run looks for the command a few times a second, and may be late where others work.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  return { code, err };
}

test("an eval that is killed again and again, and resumed, always comes to the same table", async () => {
  using whole = await tossed(OUTCOMES);
  const { out } = await evaluated(whole, "--runs", "12");
  assert.match(out, /12 runs, 2 lost and repeated/);
  using w = await tossed(OUTCOMES);
  await endedAfter(w, 1, "SIGKILL", "--runs", "12");
  for (const n of [2, 5, 9]) await endedAfter(w, n, "SIGKILL", "--resume");
  const resumed = await evaluated(w, "--resume");
  assert.equal(resumed.out, out);
  const again = await evaluated(w, "--resume");
  assert.equal(again.out, out, "there is nothing left to run");
});

test("a look after a kill sees the runs it would have seen, and no more", async () => {
  // Failures come after the second look, which would end the eval if it saw them.
  const gated = ["--runs", "12", "--at-least", "0.97"];
  using whole = await tossed("PPPPPPPPFFFF");
  const { out } = await evaluated(whole, ...gated);
  assert.match(out, /✗ below [^]*toss +8\/12 /);
  using w = await tossed("PPPPPPPPFFFF");
  await endedAfter(w, 11, "SIGKILL", ...gated);
  assert.equal((await evaluated(w, "--resume")).out, out);
});

test("an eval of a git ref that is killed and resumed comes to the same table too", async () => {
  using w = await tossed("P");
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], {
      cwd: w.cwd,
      stdio: "pipe",
    });
  git("init", "-qb", "main");
  git("add", "-A");
  git("commit", "-qm", "good");
  await endedAfter(w, 1, "SIGKILL", "--runs", "4", "--against", "main");
  await endedAfter(w, 4, "SIGKILL", "--resume");
  const { out } = await w.crochet(["eval", "--resume"]);
  assert.match(out, /not shown to be worse than main \(p 1\.000\)\n[^]*toss +4\/4 .* 4\/4 [^]*\n8 runs,/);
  assert.equal(git("worktree", "list").toString().trim().split("\n").length, 1);
});

test("an eval that a person ends exits with 130, keeps what has ended, and says how to go on", async () => {
  using w = await tossed(OUTCOMES);
  const { code, err } = await endedAfter(w, 3, "SIGINT", "--runs", "12");
  assert.equal(code, 130, err);
  assert.match(err, /crochet: interrupted: crochet eval --resume \d{8}-\d{6}-\w{4}\n/);
  const kept = ended(w);
  assert.ok(kept >= 3 && kept < 14, String(kept));
});

test(
  "on a terminal a line says how far an eval has come, and goes with it",
  { skip: NO_PTY ?? false },
  async () => {
    using w = await tossed("P");
    const env = { HOME: w.home, NO_COLOR: "1", TOSS_MS: "20" };
    await using pty = new Pty([...CROCHET, "eval", "--runs", "4"], { cwd: w.cwd, env });
    await until("it ends", () => pty.code !== undefined);
    assert.equal(pty.code, 0, pty.raw);
    assert.match(pty.raw, /\[K\d\/4 toss\/now\/\d passed/);
    assert.doesNotMatch(await pty.screen(), /now\/\d passed/);
  },
);
