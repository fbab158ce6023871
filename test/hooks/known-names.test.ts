import assert from "node:assert/strict";
import { test } from "node:test";
import { agent } from "crochet";
import { scripted } from "crochet/testing";
import * as tools from "crochet/tools";
import check from "../../lib/extensions/check/command.ts";
import doctor from "../../lib/extensions/setup/doctor.ts";
import ls from "../../lib/cli/hooks/ls.ts";
import trust from "../../lib/cli/trust.ts";
import type { Tool } from "../../lib/core/tool.ts";
import { rows } from "../_counts.ts";
import { place } from "../_place.ts";
import { load, one, preToolUse } from "./_definitions.ts";

const DENY = '-> deny("no")';

/** Hooks that each name something that does not exist, and the warning for it. */
const WRONG: readonly (readonly [name: string, text: string, warning: string])[] = [
  ["pre-tool-use@Bahs.sh", "exit 0\n", "tool 'Bahs', which does not exist: did you mean 'Bash'?"],
  ["pre-tool-use@bash.sh", "exit 0\n", "tool 'bash', which does not exist: did you mean 'Bash'?"],
  ["pre-tool-use@write_file.sh", "exit 0\n", "tool 'write_file', which does not exist: did you mean 'Write'?"],
  [
    "pre-tool-use.field.rules",
    `args.comand contains "rm" ${DENY}\n`,
    "field 'args.comand', which does not exist: did you mean 'args.command'?",
  ],
  ["pre-tool-use.root.rules", `tol equals "Bash" ${DENY}\n`, "field 'tol', which does not exist: did you mean 'tool'?"],
  [
    "pre-tool-use.bare.rules",
    `command contains "rm" ${DENY}\n`,
    "field 'command', which does not exist: did you mean 'args.command'?",
  ],
  [
    "pre-tool-use.value.rules",
    `tool equals "Edti" ${DENY}\n`,
    "tool 'Edti', which does not exist: did you mean 'Edit'?",
  ],
  [
    "post-tool-use.header.sh",
    '# crochet: matcher="Raed|Write"\nexit 0\n',
    "tool 'Raed', which does not exist: did you mean 'Read'?",
  ],
];
const RIGHT = {
  "hooks/pre-tool-use@Bash+Edit+Task+WebFetch.sh": "exit 0\n",
  "hooks/pre-tool-use@mcp__db__query+Deploy.sh": "exit 0\n",
  "hooks/pre-tool-use.fine.rules": `args.file_path glob "*.md" and path glob "*" and session_id equals "x" ${DENY}\n`,
  "hooks/pre-tool-use@mcp__db__query.rules": `args.comand contains "rm" ${DENY}\n`,
  "hooks/session-start.sh": '# crochet: matcher="startup"\nexit 0\n',
};
const YAML = `hooks:
  definitions:
    - { name: seed, type: command, command: "true", matcher: { events: [PreToolUse], tools: [bash, write_file, Read] } }
    - name: typed
      type: inline
      matcher: { events: [PreToolUse], tools: [bassh] }
      inline_rules: [{ field: args.comand, operator: contains, value: rm, action: deny }]
`;
const SETTINGS = JSON.stringify({
  hooks: { PreToolUse: [{ matcher: "Bash|Wriet", hooks: [{ type: "command", command: "true" }] }] },
});

test("a hook that names no tool or field warns with the nearest name: at load, in hooks, doctor and hooks check", async () => {
  using here = place({
    ...RIGHT,
    ...Object.fromEntries(WRONG.map(([name, text]) => [`hooks/${name}`, text])),
    "hooks.yaml": YAML,
    ".claude/settings.json": SETTINGS,
  });
  await here.call(trust);
  const expected = [
    ...WRONG.map(([name, , warning]) => `Hook ${name} names ${warning}`),
    "Hook .claude/settings.json#PreToolUse.1.1 names tool 'Wriet', which does not exist: did you mean 'Write'?",
    "Hook typed names tool 'bassh', which does not exist: did you mean 'Bash'?",
    "Hook typed names field 'args.comand', which does not exist: did you mean 'args.command'?",
  ].sort();
  const listed = await here.call(ls, "--json");
  const { warnings, hooks } = JSON.parse(listed.out) as {
    warnings: string[];
    hooks: { name: string; notBuiltIn: string[] }[];
  };
  assert.deepEqual(
    warnings.map((words) => words.replace(/Hook \S*settings\.json\S*/, "Hook .claude/settings.json#PreToolUse.1.1"))
      .sort(),
    expected,
  );
  assert.equal(listed.code, 0);
  assert.deepEqual(hooks.find(({ name }) => name.includes("Deploy"))!.notBuiltIn, ["mcp__db__query", "Deploy"]);
  const shown = (await here.call(ls)).out;
  assert.match(shown, /Name tools that are not built in:[^]*Deploy\.sh: mcp__db__query, Deploy\n/);
  assert.match(shown, /Look wrong:\n[^]*^ {2}Hook pre-tool-use@Bahs\.sh names tool 'Bahs'/m);
  const checks = JSON.parse((await here.call(doctor, "--json")).out).checks as {
    about: string;
    state: string;
    words: string;
    fix?: string;
  }[];
  const doubts = checks.filter(({ about, state }) => about === "hooks" && state === "warning");
  assert.equal(doubts.length, expected.length);
  assert.ok(
    doubts.some(({ words, fix }) => /'Bahs', which does not exist/.test(words) && fix === "did you mean 'Bash'?"),
  );
  for (const path of rows(1, ["hooks/pre-tool-use.field.rules", "hooks/pre-tool-use@Bahs.sh", "hooks.yaml"])) {
    const report = JSON.parse((await here.call(check, path, "--runs", "1", "--json")).out);
    const found = report.items.flatMap((hook: { findings: { code: string; message: string }[] }) => hook.findings);
    assert.ok(
      found.some(({ message }: { message: string }) => /which does not exist: did you mean/.test(message)),
      path,
    );
  }
});

test("an agent warns once of a hook that names no tool of its own, and knows its own tools and fields", async () => {
  using here = place({
    "hooks/pre-tool-use@Deplyo.sh": "exit 0\n",
    "hooks/pre-tool-use@Deploy.sh": "exit 0\n",
    "hooks/pre-tool-use@Frobnicate.sh": "exit 0\n",
    "hooks/pre-tool-use@WebFetch+mcp__db__query.sh": "exit 0\n",
    "hooks/pre-tool-use.rules": `args.target equals "x" and args.comands equals "y" ${DENY}\n`,
  });
  const deploy: Tool = {
    ...tools.Read,
    name: "Deploy",
    input_schema: { type: "object", properties: { target: { type: "string" }, comands: { type: "string" } } },
    parse: (input) => input,
    run: () => "deployed",
  };
  const warnings: string[] = [];
  const model = scripted([{ tools: [{ name: "Deploy", input: { target: "y" } }] }, { text: "done" }]);
  await agent({ model, tools: [deploy], hooks: `${here.cwd}/hooks` }).run("go", {
    on: (event) => event.type === "warning" && warnings.push(event.message),
  });
  assert.deepEqual(warnings, [
    "Hook pre-tool-use@Deplyo.sh names tool 'Deplyo', which does not exist: did you mean 'Deploy'?",
    "Hook pre-tool-use@Frobnicate.sh names tool 'Frobnicate', which this agent does not have",
  ]);
});

test("S3.13: in hooks.yaml bash and write_file stand for Bash and Write, in matchers and in rules", async () => {
  const rule = (value: string) =>
    `inline_rules: [{ field: tool, operator: equals, value: ${value}, action: deny, reason: hit }]`;
  for (
    const [seed, tool] of [["bash", "Bash"], ["write_file", "Write"], ["read_file", "Read"], ["edit_file", "Edit"], [
      "multi_edit",
      "MultiEdit",
    ]] as const
  ) {
    for (const called of [seed, tool]) {
      const matched = await one(
        `name: x\ntype: inline\nmatcher: { events: [PreToolUse], tools: [${seed}] }\ninline_rules: [{ field: event, operator: contains, value: "", action: deny }]`,
      );
      assert.equal((await preToolUse(matched, called, {})).decision, "deny", `${seed} ${called}`);
      const ruled = await one(`name: x\ntype: inline\nmatcher: { events: [PreToolUse] }\n${rule(seed)}`);
      assert.equal((await preToolUse(ruled, called, {})).decision, "deny", `${seed} ${called}`);
    }
    const other = await one(
      `name: x\ntype: inline\nmatcher: { events: [PreToolUse], tools: [${seed}] }\n${rule(seed)}`,
    );
    assert.equal((await preToolUse(other, "Grep", {})).decision, "continue");
  }
  const [record] = await load(YAML);
  assert.deepEqual(record!.namedTools, ["Read"]);
});
