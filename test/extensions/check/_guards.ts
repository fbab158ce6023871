import assert from "node:assert/strict";
import { checkHook } from "../../../lib/testing/index.ts";
import { hookFiles, sh } from "./_check-files.ts";

/** A module that denies on a condition. */
export const denies = (condition: string) =>
  `export default ({ input, tool_name }) => ${condition} ? { action: "deny", reason: "no" } : undefined;\n`;
const bash = (name: string) => `hooks/pre-tool-use@Bash.${name}`;

/** Guards, each with what is found of it. */
export const GUARDS: readonly (readonly [claim: string, file: string, text: string, found: string])[] = [
  [
    "needs a missing program and lets through",
    bash("needs.sh"),
    sh('c=$(printf %s "$event" | jqq -r .x)', 'case "$c" in *rm*) exit 2;; esac'),
    "fault fails.missing-program",
  ],
  [
    "only logs with a missing program",
    bash("logs-with.sh"),
    sh("jqq . >> calls.log"),
    "fault fails.missing-program",
  ],
  [
    "is written in Node and needs a missing program",
    bash("node.mjs"),
    `import { execFileSync } from "node:child_process";\nexport default () => { execFileSync("jqq"); return { action: "deny", reason: "no" }; };\n`,
    "fault fails.missing-program",
  ],
  ["denies by a name that no tool has", bash("case.mjs"), denies('tool_name === "bash"'), "fault guard.denies-nothing"],
  [
    "only says 'deny' in a comment",
    bash("comment.mjs"),
    "// deny('x')\nexport default () => {};\n",
    "warning guard.denies-nothing",
  ],
  [
    "only logs",
    bash("log.mjs"),
    "export default ({ input }) => console.error(input.command);\n",
    "warning guard.denies-nothing",
  ],
  ["denies everything", bash("all.mjs"), denies("true"), "fault guard.denies-everything"],
  [
    "denies everything, as its example says",
    bash("closed.mjs"),
    `${denies("true")}export const examples = [{ event: { tool_input: { command: "ls" } }, expect: "deny" }];\n`,
    "",
  ],
  [
    "denies everything, and has an example of something dangerous",
    bash("danger.mjs"),
    `${denies("true")}export const examples = [{ event: { tool_input: { command: "rm -rf /" } }, expect: "deny" }];\n`,
    "fault guard.denies-everything",
  ],
  ["denies every file", "hooks/pre-tool-use@Write.all.mjs", denies("true"), "fault guard.denies-everything"],
  [
    "denies by an example that does not hold",
    bash("wrong.mjs"),
    `${
      denies('input.command === "x".repeat(99999)')
    }export const examples = [{ event: { tool_input: { command: "zz" } }, expect: "deny" }];\n`,
    "fault guard.denies-nothing",
  ],
  [
    "denies in a state that its example arranges",
    bash("state.mjs"),
    `import { existsSync } from "node:fs";\n${
      denies('existsSync("frozen")')
    }export const examples = [{ given: { frozen: "" }, expect: "deny" }];\n`,
    "",
  ],
  ["names a tool with one slip", "hooks/pre-tool-use@Bahs.x.mjs", denies("true"), "fault protocol.unknown-name"],
  [
    "names a tool of the project",
    "hooks/pre-tool-use@Raed.x.mjs",
    "export default ({ input }) => input.x && { action: 'deny', reason: 'no' };\n",
    "warning guard.denies-nothing",
  ],
  [
    "names a tool of another host",
    "hooks/pre-tool-use@bash.x.mjs",
    denies("input.x"),
    "warning protocol.unknown-name,warning guard.denies-nothing",
  ],
];

/** Checks guards of the table, and holds each to what is to be found. */
export async function expectFound(guards: typeof GUARDS): Promise<void> {
  using folder = hookFiles({
    ...Object.fromEntries(guards.map(([, file, text]) => [file, text])),
    "agent.ts": `export const mine = { name: "Raed" };\n`,
  });
  const laws = ["reliable", "protocol", "guard"] as const;
  const options = { laws, runs: 4, seed: 1, timeout: 20, time: 600, cwd: folder.path };
  const { hooks } = await checkHook(`${folder.path}/hooks`, options);
  const counted = /missing|denies|unknown/;
  for (const [claim, file, , found] of guards) {
    const { findings } = hooks.find(({ path }) => path === file)!;
    const codes = findings.filter(({ code }) => counted.test(code)).map(({ severity, code }) => `${severity} ${code}`);
    assert.equal(codes.join(), found, claim);
  }
}
