import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { tries } from "../../_counts.ts";
import { runPage } from "../../../lib/extensions/view/html.ts";
import { viewOf } from "../../../lib/extensions/view/view-of-run.ts";
import type { WholeView } from "../../../lib/extensions/view/shape.ts";
import { longRun } from "./_long-run.ts";
import { logOf, logOfReplay } from "./_runs.ts";

/** Reads a page's data back as its script does. */
function dataOf(html: string, id: string): unknown {
  const start = html.indexOf(`id="${id}">`) + id.length + 6;
  return JSON.parse(html.slice(start, html.indexOf("</script>", start)));
}

const HOSTILE = [
  ...["<script>", "</script>", "<!--", "-->", "]]>", "<", ">", "&lt;"],
  ...["\u2028", "\\u003c", '"', "'", "{{", "\u0000"],
];
const hostile = fc.array(fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ maxLength: 6 })), { maxLength: 12 })
  .map((parts) => parts.join(""));

test("a page always holds every text exactly, and no text ever becomes markup", () => {
  // Kills: embedding JSON as it is, escaping only '</script', escaping the title of attributes but not the text.
  const clean = skeleton(runPage(viewOf(logOf(runSaying("x", "y", "z")), "s")));
  fc.assert(
    fc.property(hostile, hostile, hostile, (prompt, result, hook) => {
      const html = runPage(viewOf(logOf(runSaying(prompt, result, hook)), prompt));
      const parts = ["view-0", "rest-0"].map((id) => dataOf(html, id) as { sections: { text?: string }[][] });
      const sections = parts.flatMap((part) => part.sections);
      const texts = sections.flat().map((section) => section.text);
      assert.ok(texts.includes(prompt), "the prompt is there as it was");
      assert.ok(texts.includes(result), "the result is there as it was");
      assert.equal((dataOf(html, "view-0") as WholeView).hooks[0]!.name, hook);
      assert.deepEqual(skeleton(html), clean);
    }),
    { numRuns: tries(75, 5000, 150) },
  );
});

/** The tags of a page, in order. */
function skeleton(html: string): string[] {
  return [
    ...html.replace(/(<script>)[\s\S]*?(<\/script>)|(<style>)[\s\S]*?(<\/style>)/g, "$1$2$3$4").matchAll(
      /<!?\/?[a-z-]+/gi,
    ),
  ]
    .map(([tag]) => tag)
    // How many figures and notes there are depends on the run, not on its words.
    .filter((tag) => !/^<\/?(p|span)$/.test(tag));
}

function runSaying(prompt: string, result: string, hook: string): string {
  const line = (value: object) => JSON.stringify({ at: "2026-11-15T10:00:00.000Z", agent_id: "a", ...value });
  const use = { type: "tool_use", id: "t", name: "Bash", input: { command: result } };
  const folded = { runs: [{ hook, skipped: result }], contexts: [], inputs: [], decision: "continue" };
  return [
    line({ type: "start", prompt, model: "m", session_id: "s" }),
    line({ type: "message", index: 0, message: { role: "user", content: [{ type: "text", text: prompt }] } }),
    line({ type: "message", index: 1, message: { role: "assistant", content: [use] } }),
    line({ type: "fired", event: "pre-tool-use", tool_use_id: "t", folded }),
    line({ type: "tool_end", id: "t", name: "Bash", outcome: "failure", content: result, ms: 1 }),
  ].join("\n");
}

const junk = fc.oneof(fc.constantFrom(null, undefined, 0, "", [], {}, { runs: 3 }), fc.jsonValue());

test("viewOf() never fails and never loses the rest, whatever a log's lines are", async () => {
  // Kills: one throw that costs the page, an index that points past the rows, an agent that is its own parent.
  const logs = [await logOfReplay("keep-going"), await logOfReplay("delegate"), logOf(longRun(10, 20_000))];
  const damage = fc.record({ at: fc.nat(), field: fc.nat(), to: junk, how: fc.constantFrom("drop", "field", "swap") });
  fc.assert(
    fc.property(fc.nat(logs.length - 1), fc.array(damage, { maxLength: 6 }), (which, damages) => {
      const log = logs[which]!;
      const events: any[] = log.events.map((event) => ({ ...event }));
      for (const { at, field, to, how } of damages) {
        const i = at % events.length;
        if (how === "drop") events.splice(i, 1);
        else if (how === "swap") [events[i], events[0]] = [events[0], events[i]];
        else {
          const names = Object.keys(events[i]).filter((name) => !["type", "agent_id"].includes(name));
          events[i][names[field % names.length]!] = to;
        }
      }
      const view = viewOf({ ...log, events }, "damaged");
      const page = runPage(view);
      assert.ok(page.endsWith("</html>\n"));
      checkReferences(view);
    }),
    { numRuns: tries(60, 3000, 120) },
  );
});

test("every row of a view has its own link, its sections, and points only at rows and agents that are there", () => {
  checkReferences(viewOf(logOf(longRun(200, 300_000)), "long"));
});

function checkReferences({ rows, sections, agents, hooks }: WholeView): void {
  assert.equal(sections.length, rows.length);
  assert.equal(new Set(rows.map((row) => row.key)).size, rows.length);
  const isRow = (index: number) => index >= 0 && index < rows.length;
  const words = sections.flat().map((section) => "text" in section ? section.text : "");
  for (const text of [...words, ...rows.flatMap(({ name, line, tone }) => [name, line, tone])]) {
    assert.equal(typeof text, "string");
  }
  for (const row of rows) {
    assert.ok(Number.isFinite(row.at) && Number.isFinite(row.ms));
    assert.ok(row.agent >= 0 && row.agent < agents.length);
    assert.ok((row.fires ?? []).every(isRow) && (row.about === undefined || isRow(row.about)));
    assert.ok(row.started === undefined || row.started < agents.length);
  }
  for (const { outcomes } of hooks) for (const outcome of outcomes) assert.ok(outcome.rows.every(isRow));
  for (const [i, { parent, depth }] of agents.entries()) {
    assert.ok(parent >= -1 && parent < agents.length && parent !== i && depth < agents.length);
  }
}
