import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Lane } from "../../lib/testing/check/asking/lane.ts";
import type { Probed, Question } from "../../lib/testing/check/asking/probe.ts";
import { sandboxHere } from "../../lib/testing/check/asking/sandbox.ts";
import { fill, Scratch } from "../../lib/testing/check/asking/scratch.ts";
import { until } from "../_until.ts";
import { hookFiles, SLOW } from "./_check-files.ts";

const git = spawnSync("git", ["--version"]).status === 0 ? {} : { skip: "git is not installed" };

/** A module in a lane of its own, asked about commands. */
async function asked(
  module: string,
  work: (lane: Lane, question: (command: string) => Question) => Promise<void>,
): Promise<void> {
  using folder = hookFiles({ "pre-tool-use@Bash.ts": module });
  const scratch = new Scratch();
  const lane = new Lane({
    target: { type: "file", path: join(folder.path, "pre-tool-use@Bash.ts") },
    place: scratch.place(),
    host: "claude",
    env: process.env,
    more: {},
    confine: undefined,
    visible: [],
  });
  try {
    lane.start();
    await fill(lane.place);
    await lane.open();
    await work(
      lane,
      (command) => ({ event: { event: "pre-tool-use", tool_name: "Bash", input: { command } }, limit: 5000 }),
    );
  } finally {
    lane.close();
    scratch.close();
  }
}

/** All answers, however many rows it takes. */
async function all(lane: Lane, questions: readonly Question[]): Promise<Probed[]> {
  const answers: Probed[] = [];
  while (answers.length < questions.length) answers.push(...await lane.askRow(questions.slice(answers.length)));
  return answers;
}

const WRITES = `
import { existsSync, writeFileSync } from "node:fs";
let written = 0;
export default ({ input }) => {
  if (existsSync("mark")) return { action: "deny", reason: "there is a mark" };
  if (input.command === "write" || (input.command === "write once" && written++ === 0)) writeFileSync("mark", "");
};`;

const commands = (...at: readonly (readonly [number, string])[]) =>
  Array.from({ length: 12 }, (_, i) => at.find(([n]) => n === i)?.[1] ?? "ls");
const told = ({ changed, opinion }: Probed) => `${changed ?? ""}${opinion?.decision ?? ""}`;

// Kills: rows whose answers are taken though something was written between them.
test(
  "in a row each answer has what its own event made the hook write, and no event sees what another left",
  SLOW,
  async () => {
    await asked(WRITES, async (lane, question) => {
      const first = await all(lane, commands([4, "write"], [9, "write"]).map(question));
      assert.deepEqual(
        first.map(told),
        commands([4, "project/mark"], [9, "project/mark"]).map((c) => c === "ls" ? "" : c),
      );
      const clean = await all(lane, commands().map(question));
      assert.deepEqual(clean.map(told), commands().map(() => ""));
    });
  },
);

// Kills: a row that is asked again of a hook that still knows the first time.
test("in a row a hook that writes only once in its life is seen to write", SLOW, async () => {
  await asked(WRITES, async (lane, question) => {
    const answers = await all(lane, commands([7, "write once"]).map(question));
    assert.deepEqual(answers.map(told).filter((one) => one !== ""), ["project/mark"]);
  });
});

// Kills: single questions that come between those of a row.
test("a single question always waits for the row that is being asked", SLOW, async () => {
  await asked(WRITES, async (lane, question) => {
    const row = lane.askRow(commands([2, "write"]).map(question));
    const single = await lane.ask(question("ls"));
    assert.deepEqual([told(single), single.failure], ["", undefined]);
    assert.equal((await row).map(told)[2], "project/mark");
  });
});

test("a hook that is renewed remembers nothing, whether it is asked one thing or many", SLOW, async () => {
  const counts = `let asked = 0;\nexport default () => ({ action: "deny", reason: String(++asked) });`;
  await asked(counts, async (lane, question) => {
    const reasons = (answers: readonly Probed[]) => answers.map(({ opinion }) => opinion?.reason);
    const row = ["ls", "ls"].map(question);
    assert.deepEqual(reasons(await lane.askRow(row)), ["1", "2"]);
    assert.deepEqual(reasons([await lane.ask(question("ls"))]), ["3"]);
    lane.renew();
    assert.deepEqual(reasons([await lane.ask(question("ls")), await lane.ask(question("ls"))]), ["1", "2"]);
    lane.renew();
    assert.deepEqual(reasons(await lane.askRow(row)), ["1", "2"]);
  });
});

test("a hook that cannot be loaded twice in one process is asked in another", SLOW, async () => {
  const once = `
if (process.title === "taken") throw new Error("It is taken");
process.title = "taken";
let asked = 0;
export default () => ({ action: "deny", reason: String(++asked) });`;
  await asked(once, async (lane, question) => {
    const reasons = (answers: readonly Probed[]) => answers.map(({ opinion }) => opinion?.reason);
    for (let i = 0; i < 2; i++) {
      assert.deepEqual(reasons([await lane.ask(question("ls")), await lane.ask(question("ls"))]), ["1", "2"]);
      lane.renew();
      assert.deepEqual(reasons(await all(lane, ["ls", "ls"].map(question))), ["1", "2"]);
      lane.renew();
    }
  });
});

test("a lane that is shut while it asks gives no answer any more, at once", SLOW, async () => {
  await asked(`export default () => new Promise(() => setTimeout(() => {}, 60_000));`, async (lane, question) => {
    const asking = lane.askRow([{ ...question("ls"), limit: 100_000 }, question("ls")]);
    const again = asking.then(() => lane.ask(question("ls")));
    lane.shut();
    await assert.rejects(again, /interrupted/);
  });
});

test("the project of a place is a sound repository with one commit, and nothing in it has changed", git, async () => {
  const scratch = new Scratch();
  try {
    const place = scratch.place();
    await fill(place);
    const run = (...args: string[]) =>
      execFileSync("git", args, { cwd: place.project, encoding: "utf8", stdio: "pipe" });
    assert.equal(run("fsck", "--full", "--strict"), "");
    assert.equal(run("status", "--porcelain"), "");
    assert.equal(run("log", "--format=%an %s %D"), "check Begin HEAD -> main\n");
    const files = run("ls-files").trim().split("\n");
    assert.deepEqual(
      files.filter((path) => !path.includes("/")),
      readdirSync(place.project, { withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name !== ".env").map(({ name }) => name).sort(),
    );
    for (const path of files) {
      assert.equal(run("show", `HEAD:${path}`), readFileSync(join(place.project, path), "utf8"));
    }
    assert.equal(run("check-ignore", ".env"), ".env\n");
  } finally {
    scratch.close();
  }
});

const confine = await sandboxHere();

// Kills: ending only the outer of the two processes of a sandbox.
test("a lane that is closed while its sandbox starts never leaves a process behind", {
  ...SLOW,
  skip: confine === undefined && "there is no bubblewrap that works",
}, async () => {
  const scratch = new Scratch();
  const place = scratch.place();
  const target = { type: "file", path: join(place.project, "stop.ts") } as const;
  const lane = new Lane({ target, place, host: "claude", env: process.env, more: {}, confine, visible: [] });
  for (let i = 0; i < 40; i++) {
    lane.start();
    await sleep(i / 2);
    lane.close();
  }
  const left = () => pidsNaming(place.root);
  try {
    await until("all of them have ended", () => left().length === 0);
  } finally {
    for (const pid of left()) process.kill(pid, "SIGKILL");
    scratch.close();
  }
});

/** The processes that have a text in their command line. */
function pidsNaming(text: string): number[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text);
    } catch {
      return false; // it has ended
    }
  });
}
