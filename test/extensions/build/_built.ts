import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { scriptedServer, type ScriptEntry } from "../../../lib/testing/index.ts";
import type { ServedRequest } from "../../../lib/testing/server.ts";
import { ended, type Exit } from "../../_crochet.ts";
import { type Place, place } from "../../_place.ts";
import { ROOT } from "../../_runtime.ts";

/** An agent that prints while it loads, and is a program. */
export const agentWith = (options = ""): string =>
  `import { agent } from "crochet";
import { Bash } from "crochet/tools";
console.log("loading");
const fixer = agent({ from: import.meta.url, tools: [Bash], ${options} });
export default fixer;
if (import.meta.main) await fixer.main();
`;

/** One hook of each kind: each denies the line with its name, and two of them need what is beside them. */
export const HOOKS = {
  "hooks/pre-tool-use@Bash.prompt.prompt.md": "Is this fine? {{ args.command }}",
  "hooks/30-pre-tool-use@Bash.rules.rules": `args.command contains "touch rules" -> deny("by rules")`,
  "hooks/20-pre-tool-use@Bash.ts.ts": `import { readFileSync } from "node:fs";
import { deny } from "crochet";
import { word } from "./_lib/word.ts";
const why = () => readFileSync(new URL("./_lib/why.txt", import.meta.url), "utf8");
export default ({ input }) => String(input.command).includes(word) ? deny(why()) : undefined;
`,
  "hooks/10-pre-tool-use@Bash.sh.sh": `#!/bin/sh\n. "$(dirname "$0")/_lib/deny.sh"\n`,
  "hooks/_lib/deny.sh": `grep -q "touch sh" || exit 0\necho "by sh" >&2\nexit 2\n`,
  "hooks/_lib/word.ts": `export const word: string = "touch ts";\n`,
  "hooks/_lib/why.txt": "by ts",
  "hooks/README.md": "Ours",
};
export const KINDS = ["sh", "ts", "rules", "prompt"];

/** A project with crochet, and an empty directory and an empty temporary folder to run what was built in. */
export function project(files: Readonly<Record<string, string>>): Place & { empty: string; tmp: string } {
  const w = place({ ...files, "node_modules/.keep": "" });
  symlinkSync(ROOT, `${w.cwd}/node_modules/crochet`);
  const [empty, tmp] = [join(w.home, "empty"), join(w.home, "tmp")];
  for (const dir of [empty, tmp]) mkdirSync(dir);
  return { ...w, empty, tmp };
}

/** Builds into the home, and takes the project away: what runs afterwards has only what is inside. */
export async function built(
  w: Place,
  out: string,
  ...args: string[]
): Promise<{ program: string; hooks: { name: string; kind: string }[]; agents?: string[] }> {
  const made = await w.main(["build", "agent.ts", "--json", "--out", `../home/${out}`, ...args]);
  assert.deepEqual([made.code, made.err], [0, "loading\n"]);
  renameSync(w.cwd, `${w.home}/gone`);
  return { ...JSON.parse(made.out), program: join(w.home, out) };
}

interface Ran extends Exit {
  readonly asked: readonly ServedRequest[];
  /** What it made in the directory in which it ran. */
  readonly made: readonly string[];
}

/** Runs a program in the empty directory, with a model that calls Bash with these lines, or replies this. */
export async function ran(
  w: ReturnType<typeof project>,
  program: readonly [string, ...string[]],
  replies: readonly (string | ScriptEntry)[],
): Promise<Ran> {
  const script = replies.map((one) =>
    typeof one === "string" ? { tools: [{ name: "Bash", input: { command: one } }] } : one
  );
  await using server = await scriptedServer([...script, { text: "done" }]);
  const env = { HOME: w.home, TMPDIR: w.tmp, ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: server.url };
  const exit = await ended([...program, "go", "--permission-mode", "bypassPermissions"], { cwd: w.empty, env });
  const made = readdirSync(w.empty).filter((name) => name !== ".crochet");
  return { ...exit, asked: server.requests, made };
}

const judging = (action: string) => ({ text: JSON.stringify({ action, reason: "by prompt" }) });

/** Each kind of hook denies what is its own, and nothing is left of what was put into the temporary folder. */
export async function assertDenies(w: ReturnType<typeof project>, program: readonly [string, ...string[]]) {
  const lines = KINDS.map((kind) => `touch ${kind}`);
  const script = [...lines, judging("deny"), "touch free", judging("continue")];
  const { code, out, err, made } = await ran(w, program, script);
  assert.deepEqual([code, out.replace("loading\n", ""), made], [0, "done\n", ["free"]], err);
  for (const kind of KINDS) assert.match(err, new RegExp(`refused Bash touch ${kind}: .*by ${kind}`));
  assert.deepEqual(readdirSync(w.tmp), []);
}

/** Builds what has other hooks as a bundle than as a script: it is refused, and what was there before stays. */
export async function assertLost(files: Readonly<Record<string, string>>, said: RegExp): Promise<void> {
  using w = project({ ...HOOKS, ...files, "agent.js": "before" });
  const { code, err } = await w.main(["build", "agent.ts"]);
  assert.equal(code, 1, err);
  assert.match(err, /what was built is not delivered: /);
  assert.match(err, said);
  assert.equal(readFileSync(join(w.cwd, "agent.js"), "utf8"), "before");
  assert.deepEqual(readdirSync(w.cwd).filter((name) => name.startsWith(".crochet-build")), []);
}

/** Builds with agents what would lack one, or have another: nothing is delivered. */
export async function assertNoAgents(files: Readonly<Record<string, string>>, said: RegExp): Promise<void> {
  using w = project({ "agent.ts": agentThatStarts(), ...files });
  const { code, out, err } = await w.main(["build", "agent.ts", "--with-agents", "--out", "out/agent.js"]);
  assert.deepEqual([code, out], [1, ""], err);
  assert.match(err, said);
  assert.deepEqual(readdirSync(w.cwd).includes("out") ? readdirSync(join(w.cwd, "out")) : [], []);
}

const WITH_AGENT = agentWith().replace("Bash }", "agentTool, Bash, Read }");
/** An agent that can start others, and a definition of one, beside a page that defines none. */
export const agentThatStarts = (options = ""): string =>
  WITH_AGENT.replace("tools: [Bash]", `tools: [Bash, Read, agentTool(${options})]`);
export const REVIEWER = {
  "agents/reviewer.md":
    `---\ndescription: Reviews it\ntools: Read\nmodel: claude-small\n---\nYou review from inside.\n`,
  "agents/README.md": "Ours",
};

export const assertReviews = (sent: Awaited<ReturnType<typeof startedAs>>[number] | undefined): void => {
  assert.deepEqual([sent?.model, sent?.tools], ["claude-small", ["Read"]]);
  assert.match(sent!.system, /You review from inside\./);
};

/** What the model is sent for the agents of these types that a program starts, one after the other. */
export async function startedAs(
  w: ReturnType<typeof project>,
  program: readonly [string, ...string[]],
  ...types: string[]
) {
  const start = (type: string) => [
    { tools: [{ name: "Agent", input: { description: "d", prompt: `review as ${type}`, subagent_type: type } }] },
    { text: "seen" },
  ];
  const { code, err, asked } = await ran(w, program, types.flatMap(start));
  assert.equal(code, 0, err);
  return types.map((type) => {
    const { body: sent } = asked.find(({ body }) => JSON.stringify(body.messages[0]).includes(`review as ${type}`))!;
    const tools: string[] = sent.tools.map(({ name }: { name: string }) => name);
    return { model: sent.model, tools, system: JSON.stringify(sent.system) };
  });
}
