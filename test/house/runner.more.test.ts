import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { scratch } from "../_scratch.ts";
import { ROOT } from "./_files.ts";

const waits = (ms: number) =>
  `import { test } from "node:test";
  test("waits", async () => { await new Promise((resolve) => setTimeout(resolve, ${ms})); });`;
const waitsAround = (ms: number) =>
  `import { after, before, test } from "node:test";
  const wait = () => new Promise((resolve) => setTimeout(resolve, ${ms}));
  before(wait);
  after(wait);
  test("waits before and after", () => {});`;
const works = `import { test } from "node:test";
  import { spawnSync } from "node:child_process";
  test("works", () => { spawnSync("sh", ["-c", "i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done"]); });`;
const counts = `import { equal } from "node:assert";
  import { test } from "node:test";
  import { rounds } from ${JSON.stringify(join(ROOT, "test/_counts.ts"))};
  test("counts", () => equal(rounds(2, 100, 10), process.env.EXPECTED ? 10 : 2));`;

function run(args: readonly string[], files: Readonly<Record<string, string>>, env: Record<string, string> = {}) {
  using project = scratch({ "test/times.json": "{}", ...files });
  const { stdout, status } = spawnSync(process.execPath, ["run", join(ROOT, "test/run.ts"), ...args], {
    cwd: project.path,
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  const times: Record<string, number> = JSON.parse(readFileSync(join(project.path, "test/times.json"), "utf8"));
  return { status, lines: stdout.trimEnd().split("\n"), times };
}

test("a plain 'bun test' lets the tests of every file, and what is before and after them, take longer than 5 s", () => {
  using folder = scratch({ "a.test.ts": waits(10), "b.test.ts": waits(7_000), "c.test.ts": waitsAround(5_500) });
  const args = ["test", ...["a", "b", "c"].map((name) => join(folder.path, `${name}.test.ts`))];
  const { stderr, status } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
  assert.equal(status, 0, stderr);
});

test("--times measures the CPU of a file and of what it starts, and leaves other entries as they are", () => {
  const { status, times, lines } = run(["--times", "test/a.once.test.ts"], {
    "test/times.json": JSON.stringify({ "bun test/b.once.test.ts": 3, "bun test/deleted.test.ts": 4 }),
    "test/a.once.test.ts": works,
    "test/b.once.test.ts": works,
  });
  assert.equal(status, 0);
  assert.deepEqual(Object.keys(times), ["bun test/a.once.test.ts", "bun test/b.once.test.ts"]);
  // A shell that counts to 500,000 is far over a fifth of a unit; the test's own process is far under it.
  assert.ok(times["bun test/a.once.test.ts"]! > 0.2 && times["bun test/b.once.test.ts"] === 3, JSON.stringify(times));
  assert.ok(
    lines.includes(`${times["bun test/a.once.test.ts"]!.toFixed(2)} bun test/a.once.test.ts`),
    lines.join("\n"),
  );
});

test("--times keeps the figure of a file that fails", () => {
  const files = { "test/times.json": '{"bun test/a.once.test.ts": 3}', "test/a.once.test.ts": "throw new Error();" };
  const { status, times } = run(["--times"], files);
  assert.deepEqual([status, times], [1, { "bun test/a.once.test.ts": 3 }]);
});

test("a whole run says its units before the last line, and test:more has counts of its own", () => {
  const files = { "test/a.once.test.ts": counts };
  for (const [args, env] of [[[], {}], [["--more"], { EXPECTED: "1" }], [["--all"], { EXPECTED: "1" }]] as const) {
    const { lines } = run(args, files, env);
    assert.match(lines.at(-2)!, /^\d+\.\d s of CPU \(\d+\.\d units\) in \d+ s$/);
    assert.equal(lines.at(-1), "1 passed, 0 failed");
  }
});

test("without a terminal a run prints a line at least every 10 s", () => {
  const { lines } = run(["test"], {
    "test/a.once.test.ts": waits(21_000).replace("async", "{ timeout: 60_000 }, async"),
  });
  const progress = lines.filter((line) => /^\d of 1 files, \d passed, \d failed, \d+ s$/.test(line));
  assert.ok(progress.length >= 2, lines.join("\n"));
});
