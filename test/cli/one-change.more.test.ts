import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { scriptedServer } from "../../lib/testing/index.ts";
import { place } from "../_place.ts";
import { asked, LONG } from "./_recorded.ts";

const LIB = fileURLToPath(new URL("../../lib", import.meta.url));

const FILES = {
  "agent.ts": `import { agent } from "${LIB}/index.ts";
import { agentTool, Read } from "${LIB}/tools/index.ts";
const counter = { description: "Counts", system: "You count lines.", tools: ["Read"] };
export default agent({
  from: import.meta.url,
  system: "You keep the docs.",
  tools: [Read, agentTool({ agents: { counter } })],
  hooks: "./hooks",
  memory: true,
});
`,
  "hooks/user-prompt-submit.team.ts": `import { context } from "${LIB}/index.ts";
export default () => context("The team is Heron.\\nIt ships on Fridays.");
`,
  "AGENTS.md": "# House rules\n\nUse British spelling.\n",
  "CLAUDE.md": "",
};

const TASK = { description: "count", prompt: "how many?", subagent_type: "counter" };

/** What is changed in which file, what a replay then says of it, and how many calls an update asks, if it comes to that. */
const CHANGES: { file: string; from: string; to: string; says: string[]; calls?: string }[] = [
  {
    file: "hooks/user-prompt-submit.team.ts",
    from: "on Fridays",
    to: "on Mondays",
    says: [
      "hook: user-prompt-submit.team.ts does not say at user-prompt-submit what it said (at main)",
      "  line 2",
      "  - It ships on Fridays.",
      "  + It ships on Mondays.",
      "prompt: messages.0.content.1.text, from hook user-prompt-submit.team.ts, is not what was recorded (at main#1)",
      "not requested: all 3 calls",
    ],
    calls: "1 kept, 2 new",
  },
  {
    file: "AGENTS.md",
    from: "British",
    to: "American",
    says: [
      "prompt: system, memory AGENTS.md, is not what was recorded (at main#1)",
      "  line 7",
      "  - Use British spelling.",
      "  + Use American spelling.",
      "not requested: all 3 calls",
    ],
    calls: "1 kept, 2 new",
  },
  {
    file: "CLAUDE.md",
    from: "",
    to: "Be brief.\n",
    says: [
      "prompt: system, memory CLAUDE.md, is not what was recorded (at main#1)",
      "  line 8",
      "  + ",
      "  + # From CLAUDE.md",
      "  + ",
      "  + Be brief.",
      "not requested: all 3 calls",
    ],
    calls: "1 kept, 2 new",
  },
  {
    file: "AGENTS.md",
    from: FILES["AGENTS.md"],
    to: "",
    says: [
      "prompt: system, memory AGENTS.md, is not what was recorded (at main#1)",
      "  line 2",
      "  - ",
      "  - # From AGENTS.md",
      "  - ",
      "  - # House rules",
      "  - ",
      "  - Use British spelling.",
      "not requested: all 3 calls",
    ],
    calls: "1 kept, 2 new",
  },
  {
    file: "agent.ts",
    from: "You count lines.",
    to: "You count all lines.",
    says: [
      "prompt: system, agent counter, is not what was recorded (at main/toolu_1#1)",
      "  - You count lines.",
      "  + You count all lines.",
      "not requested: main#2 main/toolu_1#1",
    ],
    calls: "2 kept, 1 new",
  },
  {
    file: "hooks/user-prompt-submit.team.ts",
    from: "=> context(",
    to: "=> contxt(",
    says: [
      "not requested: all 3 calls",
      "it ended with 'denied' (Prompt dropped by hook user-prompt-submit.team.ts: contxt is not defined), but was recorded with 'done'",
      "it warned: Hook user-prompt-submit.team.ts failed on user-prompt-submit: contxt is not defined",
    ],
  },
];

test(
  "one change is reported once, with its source, without what only follows from it; and only what it needs is asked again",
  LONG,
  async () => {
    using here = place(FILES);
    const model = () =>
      scriptedServer([], {
        routes: [{ when: ({ system }) => JSON.stringify(system).includes("You count"), replies: [{ text: "3" }] }],
        then: ({ messages }) =>
          messages.length > 1 ? { text: "Three." } : { tools: [{ name: "Agent", input: TASK, id: "toolu_1" }] },
      });
    await using first = await model();
    const made = await here.crochet(["record", "agent.ts", "count", "--fixture", "it"], asked(first));
    assert.equal(made.code, 0, made.err);
    const tape = readFileSync(join(here.cwd, "fixtures/it/tape.jsonl"), "utf8");
    for (const { file, from, to, says, calls } of CHANGES) {
      const was = readFileSync(join(here.cwd, file), "utf8");
      here.put({ [file]: was.replace(from, to) });
      const { out, code } = await here.crochet(["replay"]);
      const [, told = ""] = /✗ it\n([\s\S]*) {2}to record again: /.exec(out) ?? [];
      assert.deepEqual([code, told.split("\n").slice(0, -1)], [1, says.map((line) => `  ${line}`)], out);
      await using server = await model();
      const renewed = await here.crochet(["replay", "--update"], asked(server));
      assert.match(renewed.out, new RegExp(calls === undefined ? "\\nit +error +- " : `\\nit +recorded +${calls} `));
      assert.doesNotMatch(renewed.out, /never asked for/, "what was not asked for is no longer there");
      assert.equal((await here.crochet(["replay"])).code, calls === undefined ? 1 : 0);
      here.put({ [file]: was, "fixtures/it/tape.jsonl": tape });
    }
  },
);

test("what changed for many fixtures is shown in one", LONG, async () => {
  using here = place(FILES);
  await using server = await scriptedServer([], { then: { text: "hello" } });
  for (const name of ["a", "b"]) {
    const made = await here.crochet(["record", "agent.ts", name, "--fixture", name], asked(server));
    assert.equal(made.code, 0, made.err);
  }
  here.put({ "agent.ts": FILES["agent.ts"].replace("the docs", "the books") });
  const { out } = await here.crochet(["replay", "a", "b"]);
  assert.match(
    out,
    /✗ a\n {2}prompt: system is not what was recorded \(at main#1\)\n {4}line 1\n {4}- You keep the docs\.\n {4}\+ You keep the books\.\n/,
  );
  assert.match(
    out,
    /✗ b\n {2}prompt: system is not what was recorded, as in a \(at main#1\)\n {2}not requested: main#1\n/,
  );
  const data = JSON.parse((await here.crochet(["replay", "--json"])).out);
  assert.deepEqual(
    data.map((one: any) => one.report.divergences[0].words),
    Array(2).fill("system is not what was recorded"),
  );
});
