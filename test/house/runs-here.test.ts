import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { test } from "node:test";
import { filesUnder, LIB } from "./_files.ts";

/** How it is declared, passed on in a type, and read. */
const READ =
  /readonly runsHere\?: boolean|\| "runsHere"|const \{[^}]*\brunsHere\b[^}]*\} = this\.|if \(runsHere\)|\|\| io\.runsHere;/;

// Kills: `runsHere: true` in the Io of the command line, whose runs then share what a module remembers.
test("nothing in lib says that runs are made in the process of the command: tests alone do", () => {
  const lines = filesUnder(LIB).flatMap((file) =>
    readFileSync(file, "utf8").split("\n")
      .filter((line) => line.includes("runsHere"))
      .map((line) => ({ at: `${relative(LIB, file)}: ${line.trim()}`, isRead: READ.test(line) }))
  );
  assert.ok(lines.length >= 5, "the search sees where it is read");
  assert.deepEqual(lines.filter(({ isRead }) => !isRead), []);
});
