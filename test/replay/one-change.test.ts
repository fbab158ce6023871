import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { reportLines } from "../../lib/replay/drift/drift-report.ts";
import { Agent, Read } from "../../lib/tools/index.ts";
import { type Asked, record, runHere, tapeText } from "../_record.ts";
import { put, scratch } from "../_scratch.ts";

const HOOK = "hooks/user-prompt-submit.team.ts";
const COUNTER = "agents/counter.md";
const FILES = {
  [HOOK]: `const context = "The team is Heron.\\nIt ships on Fridays.";
export default () => ({ action: "continue", context });\n`,
  "AGENTS.md": "# House rules\n\nUse British spelling.\n",
  "CLAUDE.md": "",
  [COUNTER]: "---\ndescription: Counts\ntools: [Read]\n---\nYou count lines.\n",
  "a.txt": "one\n",
};

const KEEPER: Asked = { with: { system: "You keep the docs.", tools: [Read, Agent], memory: true } };
const TASK = { description: "count", prompt: "how many?", subagent_type: "counter" };
const MODEL: Asked = {
  ...KEEPER,
  replies: [],
  script: {
    routes: [{ when: ({ system }) => JSON.stringify(system).includes("You count"), replies: [{ text: "3" }] }],
    then: ({ messages }) =>
      messages.length > 1 ? { text: "Three." } : { tools: [{ name: "Agent", input: TASK, id: "toolu_1" }] },
  },
};

/** What is put for what in a file, what a replay then says, and how many calls an update keeps and asks; none if it fails. */
const CHANGES: [file: string, from: string, to: string, says: string, kept?: number, asked?: number][] = [
  ["a.txt", "one", "two", "", 3, 0],
  [
    HOOK,
    "on Fridays",
    "on Mondays",
    `hook: user-prompt-submit.team.ts does not say at user-prompt-submit what it said (at main)
  line 2
  - It ships on Fridays.
  + It ships on Mondays.
prompt: messages.0.content.1.text, from hook user-prompt-submit.team.ts, is not what was recorded (at main#1)
not requested: all 3 calls`,
    1,
    2,
  ],
  [
    "AGENTS.md",
    "British",
    "American",
    `prompt: system, memory AGENTS.md, is not what was recorded (at main#1)
  line 7
  - Use British spelling.
  + Use American spelling.
not requested: all 3 calls`,
    1,
    2,
  ],
  [
    "CLAUDE.md",
    "",
    "Be brief.\n",
    `prompt: system, memory CLAUDE.md, is not what was recorded (at main#1)
  line 8
  + \n  + # From CLAUDE.md\n  + \n  + Be brief.
not requested: all 3 calls`,
    1,
    2,
  ],
  [
    "AGENTS.md",
    FILES["AGENTS.md"],
    "",
    `prompt: system, memory AGENTS.md, is not what was recorded (at main#1)
  line 2
  - \n  - # From AGENTS.md\n  - \n  - # House rules\n  - \n  - Use British spelling.
not requested: all 3 calls`,
    1,
    2,
  ],
  [
    COUNTER,
    "lines",
    "all lines",
    `prompt: system, agent counter, is not what was recorded (at main/toolu_1#1)
  - You count lines.
  + You count all lines.
not requested: main#2 main/toolu_1#1`,
    2,
    1,
  ],
  [
    COUNTER,
    "Counts",
    "Adds",
    `tool: tools.1.description, of tool Agent, is not what was recorded (at main#1)
  line 7
  - - counter: Counts (tools: Read)
  + - counter: Adds (tools: Read)
not requested: all 3 calls`,
    1,
    2,
  ],
  [
    "agents/writer.md",
    "",
    FILES[COUNTER],
    `tool: tools.1.description, of tool Agent, is not what was recorded (at main#1)
  line 8
  + - writer: Counts (tools: Read)
not requested: all 3 calls`,
    1,
    2,
  ],
  [
    HOOK,
    "const context",
    "const contxt",
    `hook: user-prompt-submit.team.ts fails at user-prompt-submit: context is not defined (at main)
not requested: all 3 calls
it warned: Hook user-prompt-submit.team.ts failed on user-prompt-submit: context is not defined`,
  ],
];

test("one change is reported once, with its source, and only what it needs is asked again", async () => {
  using here = scratch(FILES);
  const cwd = here.path;
  await record(cwd, MODEL);
  const tape = tapeText(cwd);
  for (const [file, from, to, says, kept, asked] of CHANGES) {
    const name = `${file}: ${to}`;
    put(cwd, { [file]: (FILES[file as keyof typeof FILES] ?? "").replace(from, to) });
    const { report } = await runHere(cwd, KEEPER);
    const text = reportLines(report).join("\n").replace(/\n?to record again: .*$/, "");
    assert.deepEqual([report.ok, text], [says === "", says], name);
    const renewed = runHere(cwd, { ...MODEL, mode: "update" });
    if (kept === undefined) await assert.rejects(renewed, /Cannot update/);
    else {
      const { calls, notes } = (await renewed).report;
      assert.deepEqual([calls.served, calls.live, notes], [kept, asked, []], name);
    }
    assert.equal((await runHere(cwd, KEEPER)).report.ok, kept !== undefined, name);
    rmSync(join(cwd, "agents"), { recursive: true });
    put(cwd, { ...FILES, "fixtures/fix-the-typo/tape.jsonl": tape });
  }
  rmSync(join(cwd, "agents"), { recursive: true });
  assert.equal((await runHere(cwd, KEEPER)).report.ok, true, "agents that the project does not have are as recorded");
  for (const gone of [() => rmSync(join(cwd, "AGENTS.md")), () => put(cwd, { "AGENTS.md": "" })]) {
    gone();
    const [first] = (await runHere(cwd, KEEPER)).report.divergences;
    assert.match(first!.words, /memory AGENTS\.md, is not what was recorded/);
  }
});

test("a difference that was declared when it was recorded stays declared, and one can be added later", async () => {
  using here = scratch();
  const day = [{ name: "day", path: "system", pattern: "\\w+day" }];
  const room = [{ name: "room", path: "system", pattern: "Room \\d" }];
  await record(here.path, {
    replies: [{ text: "Hello." }],
    with: { system: "Today is Monday. Room 1." },
    normalise: day,
  });
  const replay = async (system: string, more = {}) =>
    (await runHere(here.path, { with: { system: `Today is Friday. ${system}` }, ...more })).report;
  for (const wire of [false, true]) {
    const friday = await replay("Room 1.", { wire });
    assert.deepEqual([friday.ok, reportLines(friday)], [true, ["ignored: day (/\\w+day/ at system)"]]);
  }
  assert.equal((await replay("Room 2.")).ok, false);
  assert.equal((await replay("Room 2.", { normalise: room })).ok, true);
  assert.equal((await replay("Room 2.")).ok, false, "it was for once");
  await replay("Room 2.", { normalise: room, mode: "update" }); // which asks no model
  const now = await replay("Room 2.");
  assert.deepEqual([now.ok, now.normalise], [true, [...day, ...room]]);
  assert.equal((await replay("Room 2!")).ok, false, "nothing else is let through");
});
