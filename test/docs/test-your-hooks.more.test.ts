import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { LAWS } from "../../lib/extensions/check/check-report.ts";
import { matchers } from "../../lib/testing/index.ts";
import { playSession, reader, ROOT, skip } from "./_reader.ts";

const PAGE = readFileSync(join(ROOT, "docs/test-your-hooks.md"), "utf8");

/** Blocks of the page that are a file (```sh hooks/stop.sh) or a session (```console), in their order. */
const BLOCKS = [...PAGE.matchAll(/^```(\w+)(?: (\S+))?\n([\s\S]*?)^```$/gm)]
  .map(([, language, file, text]) => ({ language: language!, file, text: text! }))
  .filter(({ language, file }) => language === "console" || file !== undefined);

test("what docs/test-your-hooks.md tells a reader to write and run shows what it says it shows", {
  skip,
}, async () => {
  using project = reader();
  let commands = 0;
  for (const { language, file, text } of BLOCKS) {
    if (language !== "console") {
      project.write(file!, text);
      continue;
    }
    await playSession(text, project);
    commands++;
  }
  assert.ok(commands >= 5, "the page has sessions");
});

test("the page names the laws there are and no others, every matcher, and every field of an example", () => {
  assert.deepEqual([...PAGE.matchAll(/^\| \*\*(\w+)\*\* \|/gm)].map(([, law]) => law).sort(), [...LAWS].sort());
  const rest = [...Object.keys(matchers), "event", "expect", "given", "fix", "leaves", "after", "env", "says"];
  assert.deepEqual(rest.filter((name) => !PAGE.includes(`\`${name}\``)), []);
});
