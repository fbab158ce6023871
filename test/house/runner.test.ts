import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { rounds, rows, tries } from "../_counts.ts";
import { UNKNOWN } from "../_entries.ts";
import { withEnv } from "../_env.ts";
import { readReport } from "../_report.ts";
import { scratch } from "../_scratch.ts";
import { ROOT } from "./_files.ts";

const runs = (args: readonly string[], cwd = ROOT) =>
  spawnSync(process.execPath, ["run", join(ROOT, "test/run.ts"), ...args], { cwd, encoding: "utf8" });

function listed(...args: string[]): string[] {
  const { stdout, stderr, status } = runs(["--list", ...args]);
  assert.equal(status, 0, stderr);
  return stdout.trim().split("\n");
}

const quick = listed(), more = listed("--more");
const files = globSync("test/**/*.test.ts", { cwd: ROOT });

test("npm test and test:more together run every test file, under every runtime that it may run on", () => {
  const isOnce = (file: string) =>
    /\.once\.(?:more\.)?test\.ts$/.test(file) || /^test\/(house|docs|package)\//.test(file);
  const every = files.flatMap((file) => isOnce(file) ? [`bun ${file}`] : [`bun ${file}`, `deno ${file}`]);
  assert.deepEqual([...new Set([...quick, ...more])].sort(), every.sort());
  assert.deepEqual(listed("--all").sort(), every);
  assert.equal(quick.length, new Set(quick).size);
  assert.deepEqual(quick.filter((line) => line.includes(".more.")), []);
});

test("npm test runs at most 45 files under Deno, those of core, process and runtime among them, each with a reason", () => {
  const deno = quick.filter((line) => line.startsWith("deno "));
  assert.ok(deno.length <= 45, `${deno.length}`);
  const must = files.filter((file) =>
    /^test\/(?:core|process|runtime)\//.test(file) && !/\.(?:more|once)\./.test(file)
  );
  assert.deepEqual(must.filter((file) => !deno.includes(`deno ${file}`)), []);
  const runner = readFileSync(join(ROOT, "test/run.ts"), "utf8");
  const named = [...runner.matchAll(/^ {2}\["(test\/[^"]+)", "[^"]{12,}"\],$/gm)].map(([, path]) => path!);
  assert.deepEqual(deno.filter((line) => !named.some((path) => line.startsWith(`deno ${path}`))), []);
  assert.deepEqual(named.filter((path) => !deno.some((line) => line.startsWith(`deno ${path}`))), []);
});

test("test:more runs the files with counts again", () => {
  const counted = files.filter((file) => /\/_counts\.ts"/.test(readFileSync(join(ROOT, file), "utf8")));
  assert.ok(counted.length > 50, `${counted.length}`);
  assert.deepEqual(counted.filter((file) => !more.includes(`bun ${file}`)), []);
});

test("counts are small in npm test, and those of their own in test:more and test:long", async () => {
  const counts = (env: Record<string, string>) =>
    withEnv({ CROCHET_TEST_MORE: undefined, CROCHET_TEST_LONG: undefined, ...env }, () => [
      ...[rounds(2, 100, 10), rounds(2, 100)],
      ...[tries(2, 100, 10), tries(2, 100)],
      rows(2, ["a", "b", "c"]).join(""),
    ]);
  assert.deepEqual(await counts({}), [2, 2, 2, 2, "ab"]);
  assert.deepEqual(await counts({ CROCHET_TEST_MORE: "1" }), [10, 2, 10, 2, "abc"]);
  assert.deepEqual(await counts({ CROCHET_TEST_LONG: "1" }), [100, 100, 100, 100, "abc"]);
});

test("bun run ok checks that no promise floats, and types by tsc, before the tests; .ci/run does too, types by Deno", () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  assert.equal(scripts.types, "tsc --noEmit");
  assert.match(scripts.floats, /^oxlint --type-aware .* lib /);
  assert.match(scripts.ok, /&& bun run floats && bun run types && bun run test\/run\.ts$/);
  assert.match(
    readFileSync(join(ROOT, ".ci/run"), "utf8"),
    /^bun run --silent floats\ndeno check lib hooks fixtures test\nlog=/m,
  );
});

test("a list is of what is named, or of what a change reaches, and its lines alone are printed", () => {
  assert.deepEqual(listed("test/regex"), [
    "bun test/regex/search.property.test.ts",
    "deno test/regex/search.property.test.ts",
  ]);
  assert.deepEqual(listed("--more", "test/house").filter((line) => !line.includes(".more.")), [
    "bun test/house/runner.test.ts",
  ]);
  assert.deepEqual(listed("--since", "HEAD").filter((line) => !/^(?:bun|deno) test\/\S+\.test\.ts$/.test(line)), []);
});

test("what cannot be run is refused with exit 2 and one line, in a list too", () => {
  for (
    const [args, message] of [
      [["test/nowhere"], /^Cannot find 'test\/nowhere'\n$/],
      [["--list", "test/nowhere"], /^Cannot find 'test\/nowhere'\n$/],
      [["lib"], /^Cannot run 'lib' as it has no tests\n$/],
      [["--since", "nowhere"], /bad revision 'nowhere'/],
      [["--list", "--since", "nowhere"], /bad revision 'nowhere'/],
      [["--list", "--times"], /^Cannot use --times with --list as nothing is run\n$/],
      [["--lisp"], /^Unknown option '--lisp'.*\n$/],
    ] as const
  ) {
    const { status, stdout, stderr } = runs(args);
    assert.deepEqual([status, stdout], [2, ""], args.join(" "));
    assert.match(stderr, message);
  }
});

test("a run begins with what it does, and ends with the CPU and the seconds, then the counts", () => {
  using project = scratch({
    "test/times.json": "{}",
    "test/a.once.test.ts":
      `import { test } from "node:test"; test("passes", () => {}); test("fails", () => { throw 1; });`,
    "test/b.once.test.ts": `import { test } from "node:test"; test("passes", () => {});`,
  });
  const { status, stdout } = runs(["test"], project.path);
  const lines = stdout.trimEnd().split("\n");
  assert.deepEqual([status, lines[0]!.replace(/\d+ at once/, "N at once"), lines.at(-1)], [
    ...[1, "2 files in 2 parts, N at once", "2 passed, 1 failed"],
  ]);
  assert.match(lines.at(-2)!, /^\d+\.\d s of CPU in \d+ s$/);
});

test("what failed is named with why: by the text of the failure, or, of what ran out of time, by its message", () => {
  const report = `<testsuite name="test/a.test.ts">
    <testcase name="(unnamed)" line="1"><failure type="TimeoutError" message="test timed out" /></testcase>
    <testcase name="b"><failure type="AssertionError" message="short">long &lt;b&gt;&#10;at c</failure></testcase>
  </testsuite>`;
  using folder = scratch({ "a.xml": report });
  assert.deepEqual(readReport(join(folder.path, "a.xml"), "bun").failed, [
    "bun test/a.test.ts: (unnamed)\n    test timed out",
    "bun test/a.test.ts: b\n    long <b>\n    at c",
  ]);
});

test("no file of npm test costs more than 1.4 units, and all of them at most 175", () => {
  const times: Record<string, number> = JSON.parse(readFileSync(join(ROOT, "test/times.json"), "utf8"));
  const costs = quick.map((line) => [line, times[line] ?? UNKNOWN] as const);
  assert.deepEqual(costs.filter(([, units]) => units > 1.4), []);
  const sum = costs.reduce((sum, [, units]) => sum + units, 0);
  assert.ok(
    sum <= 175,
    `${sum} units: measure what is new by 'bun run test --times FILE', then make it cheaper, or a *.more.test.ts`,
  );
});
