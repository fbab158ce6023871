import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { named, numbers, PAGE, requirements } from "../trace.ts";
import { ROOT } from "./_files.ts";

test("the title of a test names every requirement and rule", () => {
  const tests = named();
  const missing = [...requirements()].filter(([number, { mustBeNamed }]) => mustBeNamed && !tests.has(number));
  assert.deepEqual(missing.map(([number]) => number), []);
});

test("every number that a test or SECURITY.md names is in docs/requirements.md", () => {
  const page = requirements();
  const used = [...named().keys(), ...numbers(readFileSync(join(ROOT, "SECURITY.md"), "utf8"))];
  assert.deepEqual(used.filter((number) => !page.has(number)), []);
});

test("a test that a row of the page links names the row's number", () => {
  const tests = named();
  const links = [...readFileSync(PAGE, "utf8").matchAll(/^- \(?([SUCP][\d.]+).*\(\[test\]\(\.\.\/(.*?)\)\)/gm)];
  assert.ok(links.length > 0);
  const wrong = links.filter(([, number, file]) => !tests.get(number!)?.some((title) => title.startsWith(`${file}:`)));
  assert.deepEqual(wrong.map(([row]) => row), []);
});
