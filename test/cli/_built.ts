import assert from "node:assert/strict";
import { mkdirSync, readdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { scriptedServer, type ScriptEntry, type ServedRequest } from "../../lib/testing/index.ts";
import { ended, type Exit } from "../_crochet.ts";
import { type Place, place } from "../_place.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

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
export async function assertDenies(
  w: ReturnType<typeof project>,
  program: readonly [string, ...string[]],
  kinds = KINDS,
): Promise<void> {
  for (const kind of kinds) {
    const judged = kind === "prompt" ? [judging("deny")] : [];
    const { code, out, err, made } = await ran(w, program, [`touch ${kind}`, ...judged]);
    assert.deepEqual([code, out.replace("loading\n", ""), made], [0, "done\n", []], err);
    assert.match(err, new RegExp(`refused Bash touch ${kind}: .*by ${kind}`));
    assert.deepEqual(readdirSync(w.tmp), []);
  }
  const free = await ran(w, program, ["touch free", judging("continue")]);
  assert.deepEqual([free.code, free.made], [0, ["free"]], free.err);
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

export const assertReviews = (sent: Awaited<ReturnType<typeof startedAs>>): void => {
  assert.deepEqual([sent?.model, sent?.tools], ["claude-small", ["Read"]]);
  assert.match(sent!.system, /You review from inside\./);
};

/** What the model is sent for an agent of a type that a program starts; undefined if none was started. */
export async function startedAs(w: ReturnType<typeof project>, program: readonly [string, ...string[]], type: string) {
  const start = { tools: [{ name: "Agent", input: { description: "d", prompt: "review", subagent_type: type } }] };
  const { code, err, asked } = await ran(w, program, [start, { text: "seen" }]);
  assert.equal(code, 0, err);
  const sent = asked.map(({ body }) => body).find(({ messages }) => JSON.stringify(messages[0]).includes('"review"'));
  return sent &&
    {
      model: sent.model,
      tools: sent.tools.map(({ name }: { name: string }) => name),
      system: JSON.stringify(sent.system),
    };
}
