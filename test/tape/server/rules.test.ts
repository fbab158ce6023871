import assert from "node:assert/strict";
import { test } from "node:test";
import { asksModel } from "../../../lib/tape/server/api.ts";
import { SentMatcher } from "../../../lib/tape/server/match.ts";
import { noRecordings } from "../../_data.ts";
import { asked, recordedRuns, tapeOfRecorded } from "./_pairs.ts";

test("every recorded pair of runs is judged as its index says", { skip: noRecordings }, () => {
  const runs = recordedRuns();
  const wrong: string[] = [];
  let judged = 0;
  for (const run of runs) {
    if (run.against === undefined) continue;
    const { client, scenario, variant, against } = run;
    const other = runs.find((one) => one.client === client && one.scenario === scenario && one.variant === against)!;
    const matcher = new SentMatcher(tapeOfRecorded(other));
    let matched = 0;
    let call = 0;
    let first: { call: number; path: string } | undefined;
    for (const { sent, lane } of asked(run)) {
      const found = matcher.find(sent);
      if (!asksModel(sent)) continue;
      call++;
      if (found) matched += first ? 0 : 1;
      else first ??= { call, path: matcher.explain(sent, lane).path };
    }
    judged++;
    const got = first ? "drift" : "same";
    const isAt = !run.first || (first?.call === run.first.call && run.first.paths.map(dotted).includes(first.path));
    if (got !== run.expect || !isAt || (got === "same" && matched !== run.matched)) {
      wrong.push(
        `${client}/${scenario}/${variant}: ${got} ${matched} ${JSON.stringify(first)}, not ${JSON.stringify(run)}`,
      );
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(judged > 40);
});

/** A path of the index as ours are written. */
function dotted(path: string): string {
  return path.replace(/\[(\d+)\]/g, ".$1");
}
