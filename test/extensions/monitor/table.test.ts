import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { agentsTable } from "../../../lib/extensions/monitor/agents.ts";
import { coloursFor, displayWidth } from "../../../lib/cli/show/text.ts";
import { appendEvent } from "../../../lib/extensions/monitor/monitor-log.ts";
import { logOf } from "../../../lib/extensions/monitor/note.ts";
import type { Standing } from "../../../lib/extensions/monitor/standing.ts";
import { rounds } from "../../_counts.ts";
import { CROCHET } from "../../_crochet.ts";
import { place } from "../../_place.ts";
import { NO_PTY, Pty } from "../../_pty.ts";

const NOW = Date.parse("2026-01-02T00:00:00Z");
const at = (seconds: number) => new Date(NOW - seconds * 1000).toISOString();
const plain = coloursFor(false, {});

test("the table of agents says id, state, since when, and what each asks", () => {
  const all: Standing[] = [
    { id: "fixer", state: "prompting", prompt_type: "question", message: "Which\none?", since: at(5) },
    {
      id: "0b3f5a52-9d8e-4f47-8a35-0f4cf5a1e111",
      name: "coding",
      workspace: "/home/me/shop",
      state: "working",
      since: at(130),
    },
    { id: "old", state: "failed", since: at(90_000) },
  ];
  assert.equal(
    agentsTable(all, { columns: 80, colours: plain, now: NOW }),
    [
      "agent     state                since  asks",
      "fixer     prompting(question)  5 s    Which one?",
      "0b3f5a52  working              2 min  coding in shop",
      "old       failed               1 d",
      "",
    ].join("\n"),
  );
});

test("a row of the table never is wider than the terminal, nor steers it", () => {
  const text = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.constantFrom("\u001b[2J", "日本語のエージェント", "a\tb\nc"),
  );
  const standing: fc.Arbitrary<Standing> = fc.oneof(
    fc.record({ id: text, state: fc.constantFrom("working" as const, "stopped" as const), since: fc.constant(at(9)) }),
    fc.record({
      id: text,
      state: fc.constant("prompting" as const),
      prompt_type: fc.constantFrom("question" as const, "plan_approval" as const),
      message: text,
      since: fc.constant(at(9)),
    }),
  );
  fc.assert(
    fc.property(fc.array(standing), fc.integer({ min: 1, max: 120 }), (all, columns) => {
      const table = agentsTable(all, { columns, colours: plain, now: NOW });
      assert.ok(!table.includes("\u001b"));
      assert.equal(table.split("\n").length, all.length + 2);
      for (const row of table.split("\n")) assert.ok(displayWidth(row) <= columns, JSON.stringify(row));
    }),
    { numRuns: rounds(100, 2000) },
  );
});

for (const columns of [80, 24]) {
  test(`crochet agents --watch shows changes as they come at ${columns} columns, without clearing, and quits with q`, {
    skip: NO_PTY ?? false,
    timeout: 300_000,
  }, async () => {
    using here = place();
    const dir = join(here.home, ".crochet/agents");
    mkdirSync(dir, { recursive: true });
    const now = () => new Date().toISOString();
    appendEvent(logOf(dir, "fixer"), { type: "start", at: now() });
    await using pty = new Pty([...CROCHET, "agents", "--watch"], {
      cwd: here.cwd,
      env: { HOME: here.home, NO_COLOR: "1" },
      columns,
      rows: 10,
    });
    await pty.until(/fixer\s+working/);
    appendEvent(logOf(dir, "fixer"), {
      type: "prompt",
      prompt_type: "question",
      message: "Which one of them?",
      at: now(),
    });
    const screen = await pty.until(columns === 80 ? /prompting\(question\)\s+\d s\s+Which one of them\?/ : /prompting/);
    for (const row of screen.split("\n")) assert.ok(row.length <= columns);
    assert.match(screen, /1 agent · q quits/);
    assert.ok(!pty.raw.includes("\u001b[2J"), "it clears the screen, which flickers");
    pty.send("q");
    assert.equal(await pty.end(), 0);
    assert.ok(pty.raw.trimEnd().endsWith("\u001b[?25h\u001b[?1049l"), "the terminal is not as it was");
  });
}

test("crochet agents --watch ends with Ctrl-C", { skip: NO_PTY ?? false }, async () => {
  using here = place();
  await using pty = new Pty([...CROCHET, "agents", "--watch"], { cwd: here.cwd, env: { HOME: here.home } });
  await pty.until(/no agents are running/);
  pty.send("\u0003");
  assert.equal(await pty.end(), 0);
});
