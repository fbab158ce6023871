import type { ScriptedReply } from "../../testing/index.ts";
import { FOLDER, type Supply } from "./supply.ts";

export const PROMPT = "Fix the spelling in hello.txt and publish it";

/** The name of the recorded run. */
export const FIXTURE = "fix-spelling";

const HOOK = "hooks/pre-tool-use@Bash.no-force-push.ts";

/** The replies of a scripted model in the recorded run. */
export const REPLIES: readonly ScriptedReply[] = [
  { text: "I look at the file first.", tools: [{ name: "Read", input: { file_path: "hello.txt" } }] },
  { tools: [{ name: "Edit", input: { file_path: "hello.txt", old_string: "Helo", new_string: "Hello" } }] },
  { text: "Now I publish it.", tools: [{ name: "Bash", input: { command: "git push --force origin main" } }] },
  { text: "hello.txt is spelled right now. I have not published it, as a forced push is not allowed here." },
];

/** Folders whose files are not the project's own. */
const NOT_OURS = ["fixtures", "vendor"];

/** For editors and `tsc`: what Bun, Deno and Node run as it is. */
const TSCONFIG = {
  compilerOptions: {
    module: "Preserve",
    target: "ESNext",
    types: ["node"],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    verbatimModuleSyntax: true,
    erasableSyntaxOnly: true,
  },
  exclude: ["node_modules", ...NOT_OURS],
};

/** The files of a new project, by path; what a person writes. */
export function templates(name: string): { readonly [path: string]: string } {
  return {
    "agent.ts": `import { agent } from "crochet";
import { Bash, Edit, Glob, Grep, Read, Write } from "crochet/tools";

const helper = agent({
  from: import.meta.url,
  name: ${JSON.stringify(name)},
  system: "You help in this directory. Look before you change something, and check what you did.",
  tools: [Read, Write, Edit, Glob, Grep, Bash],
  hooks: "./hooks",
  permissions: { mode: "acceptEdits" }, // edits in this directory run unasked, commands that change something ask
});
export default helper;
if (import.meta.main) await helper.main();
`,
    [HOOK]: `import type { PreToolUseHook } from "crochet";

/** Refuses a forced push, which can take commits from others. */
export default (({ input }) => {
  const { command = "" } = input as { command?: string };
  if (!/\\bgit\\s+push\\b[^;&|]*\\s(--force|-f)(\\s|$)/.test(command)) return;
  return { action: "deny", reason: "A forced push is not allowed here: push to a branch of your own" };
}) satisfies PreToolUseHook;

/** What it answers to what: hooks.test.ts and 'crochet hooks check' try them. */
export const examples = [
  { name: "a forced push", event: { tool_input: { command: "git push --force origin main" } }, expect: "deny" },
  { name: "the short flag", event: { tool_input: { command: "git push -f" } }, expect: "deny" },
  { name: "a plain push", event: { tool_input: { command: "git push origin main" } }, expect: "continue" },
  { name: "a lease", event: { tool_input: { command: "git push --force-with-lease" } }, expect: "continue" },
];
`,
    "agent.test.ts": `import assert from "node:assert/strict";
import { test } from "node:test";
import { replay } from "crochet/testing";
import helper from "./agent.ts";

// A recorded run: the model's words come from fixtures/${FIXTURE}/tape.jsonl, agent, hooks and tools are the real ones.
test("the agent fixes the file and cannot force a push", async () => {
  const run = await replay(helper, "${FIXTURE}", { cwd: import.meta.dirname! });
  assert.equal(run.files["hello.txt"], "Hello, world!\\n");
  assert.deepEqual(run.calls("Bash").map((call) => call.outcome), ["denied"]);
});
`,
    "hooks.test.ts": `import { testExamples } from "crochet/testing";

await testExamples(new URL("./hooks", import.meta.url)); // a test for each example of each hook
`,
    ".gitignore": "node_modules/\n.crochet/*\n!.crochet/config.yaml\n",
    "tsconfig.json": `${JSON.stringify(TSCONFIG, null, 2)}\n`,
    "bunfig.toml": `[test]
# What a recorded run began with may have tests in it, which are not this project's.
pathIgnorePatterns = ["fixtures/**", "vendor/**"]
`,
    "fixtures/.gitattributes":
      `# A replay compares bytes: git must not change line ends, as it does where core.autocrlf is set.
* -text
# Recordings cannot be merged: git keeps yours and reports a conflict. 'crochet fixtures show' may make its diffs.
tape.jsonl -merge diff=tape
`,
    [`fixtures/${FIXTURE}/files/hello.txt`]: "Helo, world!\n",
  };
}

/** Where `crochet` is found by a new project. */
export interface Origin {
  readonly root: string;
  readonly version: string;
  /** Whether it is a clone, whose sources are used as they are. */
  readonly clone: boolean;
  readonly runtime: "bun" | "deno" | "node";
  /** Whether the new project has it installed already, itself or in a folder above. */
  readonly found: boolean;
  /** The same for the types of Node. */
  readonly nodeTypes: boolean;
  /** Without, a new project's own Bun is called, by npm. */
  readonly isBunOnPath: boolean;
  readonly isNodeOnPath: boolean;
}

interface Commands {
  /** Absent if the runtime installs packages itself. */
  readonly install?: string;
  readonly test: string;
  readonly crochet: string;
  readonly start: string;
}

const COMMANDS: { readonly [runtime in Origin["runtime"]]: Commands } = {
  bun: { install: "bun install", test: "bun test", crochet: "bunx crochet", start: "bun run agent.ts" },
  deno: { test: "deno test -A", crochet: "deno run -A npm:crochet", start: "deno run -A agent.ts" },
  node: { install: "npm install", test: "node --test", crochet: "npx crochet", start: "node agent.ts" },
};

const BY_NPM: Commands = { install: "npm install", test: "npm test", crochet: "npx crochet", start: "npm start --" };

/** What a person types in the new project; no `install` if nothing has to be installed. */
export function commands({ clone, version, runtime, found, nodeTypes, isBunOnPath }: Origin): Commands {
  if (runtime === "bun" && !isBunOnPath) return BY_NPM;
  const { test, crochet, start } = COMMANDS[runtime];
  // With its version: another one may be that of a stranger.
  if (runtime === "deno" && !found) return { test, crochet: `${crochet}@${version}`, start };
  if (clone) return { test, crochet: "crochet", start };
  if (!found) return COMMANDS[runtime];
  // Where others have installed what is there, Deno gets no types for 'node:test'.
  return { test: runtime === "deno" && !nodeTypes ? `${test} --no-check` : test, crochet, start };
}

export function packageJson(name: string, origin: Origin, { dependency }: Supply): string {
  const { start, test } = commands({ ...origin, isBunOnPath: true });
  const made = {
    name: name.toLowerCase().replace(/[^a-z0-9._-]+/g, "-").replace(/^[._-]+/, "") || "agent",
    private: true,
    type: "module",
    scripts: { start, test },
    dependencies: { crochet: dependency },
    // For editors, and for Deno, which checks the types of tests before it runs them.
    // The package 'bun' needs Node to install; without Node there is a Bun already.
    devDependencies: {
      "@types/node": "*",
      ...(origin.runtime === "bun" && origin.isNodeOnPath && { bun: "^1.4.0" }),
    },
  };
  return `${JSON.stringify(made, null, 2)}\n`;
}

/** For Deno, which installs what a registry or a folder has, and no tarball: that npm or Bun has to install. */
export function denoJson({ version, found }: Origin, { vendored }: Supply): string {
  const linked = {
    links: [`./${FOLDER}`],
    imports: { crochet: `npm:crochet@${version}`, "crochet/": `npm:/crochet@${version}/` },
  };
  const { test, start } = COMMANDS.deno;
  const made = {
    nodeModulesDir: found || (vendored && vendored !== FOLDER) ? "manual" : "auto",
    ...(vendored === FOLDER && linked),
    tasks: { test, start, check: "deno check" },
    exclude: NOT_OURS.map((folder) => `${folder}/`),
  };
  return `${JSON.stringify(made, null, 2)}\n`;
}
