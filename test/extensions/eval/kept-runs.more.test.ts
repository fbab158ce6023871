import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluated, tossed } from "./_tossed.ts";

test("runs that are added later have an interval that is right whenever someone looks", async () => {
  using w = await tossed("PPF");
  const first = JSON.parse((await evaluated(w, "--runs", "6", "--json")).out);
  const more = JSON.parse((await evaluated(w, "--resume", "--runs", "12", "--json")).out);
  using other = await tossed("PPF");
  const fixed = JSON.parse((await evaluated(other, "--runs", "12", "--json")).out);
  const width = ({ rows: [{ cells: [{ interval: [low, high] }] }] }: any) => high - low;
  assert.deepEqual([first.runs, more.runs, fixed.runs], [6, 12, 12]);
  assert.ok(width(more) > width(fixed), `${width(more)} is not wider than ${width(fixed)}`);
  assert.equal(more.rows[0].cells[0].passed, fixed.rows[0].cells[0].passed);
  const fewer = await evaluated(w, "--resume", "--runs", "3");
  assert.match(fewer.err, /Cannot take runs away from .*, which has 12: raise --runs/);
  w.put({ "fixtures/toss/files/README": "b\n" });
  assert.match((await evaluated(w, "--resume")).err, /Cannot continue .* as toss has changed since: start a new eval/);
});
