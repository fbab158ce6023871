import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Lane } from "../../../lib/extensions/check/hook-lane.ts";
import { fill, Scratch } from "../../../lib/extensions/check/scratch-project.ts";
import type { Question } from "../../../lib/extensions/check/subject.ts";
import { noSandbox } from "../../_needs.ts";
import { until } from "../../_until.ts";
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
    sandbox: false,
    visible: [],
  });
  try {
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

const WRITES = `
import { existsSync, writeFileSync } from "node:fs";
let asked = 0;
export default ({ input }) => {
  asked++;
  const seen = existsSync("mark");
  if (input.command === "write") writeFileSync("mark", "");
  return { action: "deny", reason: asked + (seen ? " with a mark" : "") };
};`;

test("a lane reports what a hook writes and puts it back, unless it is asked to keep it", SLOW, async () => {
  await asked(WRITES, async (lane, question) => {
    const ask = async (command: string, keep = false) => {
      const { opinion, changed = [] } = await lane.ask({ ...question(command), keep });
      return [opinion?.reason, ...changed];
    };
    assert.deepEqual(await ask("write"), ["1", "project/mark"]);
    assert.deepEqual(await ask("ls"), ["2"]);
    assert.deepEqual(await ask("write", true), ["3", "project/mark"]);
    assert.deepEqual(await ask("ls", true), ["4 with a mark", "project/mark"]);
    lane.restart();
    assert.deepEqual(await ask("ls"), ["1"]);
  });
});

// Kills: an answer behind what a program of the hook left on its line.
test("a lane hears an answer after anything that programs of the hook print", SLOW, async () => {
  const module = `import { execFileSync } from "node:child_process";
export default () => void execFileSync("printf", ["no end of line"], { stdio: "inherit" });`;
  await asked(module, async (lane, question) => {
    assert.deepEqual((await lane.ask(question("ls"))).opinion, {});
  });
});

test("a lane that is shut while it asks throws, also at the next question", SLOW, async () => {
  await asked(`export default () => new Promise(() => setTimeout(() => {}, 60_000));`, async (lane, question) => {
    const asking = lane.ask({ ...question("ls"), limit: 100_000 });
    setTimeout(() => lane.shut(), 50);
    await assert.rejects(asking, /interrupted/);
    await assert.rejects(lane.ask(question("ls")), /interrupted/);
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

// Kills: ending only the outer of the two processes of a sandbox.
test("a lane that is closed while its sandbox starts never leaves a process behind", {
  ...SLOW,
  skip: noSandbox,
}, async () => {
  const scratch = new Scratch();
  const place = scratch.place();
  const target = { type: "file", path: join(place.project, "stop.ts") } as const;
  const lane = new Lane({ target, place, host: "claude", env: process.env, more: {}, sandbox: true, visible: [] });
  for (let i = 0; i < 20; i++) {
    const opening = lane.open().catch(() => {});
    await sleep(i);
    lane.close();
    await opening;
  }
  lane.close();
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
