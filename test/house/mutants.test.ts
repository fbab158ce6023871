import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { put, scratch } from "../_scratch.ts";
import { ROOT } from "./_files.ts";

const LIST = "test/data/mutants.jsonl";
const LINE = "export const one = 1, two = 2;";
const mutant = (id: string, was: string, now: string, killer = "test/a/one.test.ts") =>
  JSON.stringify({ id, file: "lib/a/x.ts", line: 1, was, now, killer: [killer] });
const notices = (name: string, value: number) =>
  `import { equal } from "node:assert"; import { test } from "node:test"; import { ${name} } from "../../lib/a/x.ts";
  test("it is", () => equal(${name}, ${value}));`;

function judged(mutants: readonly string[], files: Readonly<Record<string, string>> = {}) {
  using project = scratch({
    [LIST]: `${mutants.join("\n")}\n`,
    "lib/a/x.ts": `${LINE}\n`,
    "test/a/one.test.ts": notices("one", 1),
  });
  put(project.path, files);
  const ran = spawnSync(process.execPath, ["run", join(ROOT, "test/mutants.ts")], {
    cwd: project.path,
    encoding: "utf8",
  });
  assert.equal(readFileSync(join(project.path, "lib/a/x.ts"), "utf8"), `${LINE}\n`);
  return { status: ran.status, said: `${ran.stdout}${ran.stderr}`.trimEnd().split("\n") };
}

const ofOne = mutant("one", LINE, LINE.replace("1", "7")), ofTwo = mutant("two", LINE, LINE.replace("2", "7"));
const lost = mutant("lost", "const three = 3;", "");

test("a mutant is caught by the file that it names, else by one of its folder, and lives if none fails", () => {
  assert.deepEqual(judged([ofOne, ofTwo]), {
    status: 1,
    said: [
      "caught: lib/a/x.ts:1 (one) by test/a/one.test.ts",
      ...["alive: lib/a/x.ts:1 (two)", `- ${LINE}`, "+ export const one = 1, two = 7;"],
      "1 of 2 caught",
    ],
  });
  assert.deepEqual(judged([ofTwo], { "test/a/two.test.ts": notices("two", 2) }), {
    status: 0,
    said: ["caught: lib/a/x.ts:1 (two) by test/a/one.test.ts test/a/two.test.ts", "1 of 1 caught"],
  });
});

test("a mutant that only a *.more.test.ts notices lives", () => {
  const named = mutant("two", LINE, LINE.replace("2", "7"), "test/a/two.more.test.ts");
  const { status, said } = judged([named], { "test/a/two.more.test.ts": notices("two", 2) });
  assert.deepEqual([status, said.at(-1)], [1, "0 of 1 caught"]);
});

test("a line that is no longer there is gone, and more than a third of such lines is a failure", () => {
  const gone = "gone: lib/a/x.ts:1 (lost)", caught = "caught: lib/a/x.ts:1 (one) by test/a/one.test.ts";
  assert.deepEqual(judged([ofOne, ofOne, lost]), { status: 0, said: [caught, caught, gone, "2 of 3 caught, 1 gone"] });
  assert.deepEqual(judged([ofOne, lost]), { status: 1, said: [caught, gone, "1 of 2 caught, 1 gone"] });
});

test("nothing is judged by a test that fails without the change, nor by a line that is not JSON", () => {
  assert.deepEqual(judged([ofOne], { "test/a/one.test.ts": notices("one", 5) }), {
    status: 2,
    said: ["Cannot judge one as this fails without it: test/a/one.test.ts"],
  });
  const { status, said } = judged([ofOne, "{"]);
  assert.equal(status, 2);
  assert.match(said.join("\n"), /^Cannot read test\/data\/mutants\.jsonl:2 as it is not JSON: /);
});

test("every mutant names a file of npm test, and at most a third of their lines are gone", () => {
  const mutants = readFileSync(join(ROOT, LIST), "utf8").trim().split("\n").map((line) =>
    JSON.parse(line) as { id: string; file: string; was: string; killer: string[] }
  );
  const isThere = (path: string) => existsSync(join(ROOT, path));
  const isTest = (path: string) => path.endsWith(".test.ts") && !path.endsWith(".more.test.ts") && isThere(path);
  assert.deepEqual(mutants.filter(({ killer }) => killer.length === 0 || !killer.every(isTest)), []);
  const gone = mutants.filter(({ file, was }) =>
    !isThere(file) || !readFileSync(join(ROOT, file), "utf8").split("\n").includes(was)
  );
  assert.ok(gone.length <= mutants.length / 3, gone.map(({ id }) => id).join());
});
