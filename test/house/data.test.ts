import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { testData } from "../_data.ts";
import { filesUnder } from "./_files.ts";

/** Paths of the machine that a program ran on, as such or as part of a name, and reminders that no hook wrote. */
const FOREIGN = [
  /(?<![\w.}])\/(?:root|home|Users|work|var|mnt|private)\//,
  /(?<=projects\/)-(?!PROJ\b)[\w-]+/,
  /-(?:root|tmp|home|Users|work|BASE)-[\w-]+-proj/,
  /<system-reminder>\\n(?!\S+ hook (?:success|additional context|blocking error))/,
  /\[Subagent hand-back\]|needs approval/,
];

test("the data of tests holds no path of the machine it was made on, and no reminder of a host's own", () => {
  const found = filesUnder(testData("")).flatMap((file) => {
    const text = readFileSync(file, "utf8");
    return FOREIGN.flatMap((foreign) => foreign.exec(text)?.[0].slice(0, 80) ?? []).map((words) => `${file}: ${words}`);
  });
  assert.deepEqual(found, []);
});
