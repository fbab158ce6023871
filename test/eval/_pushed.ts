import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import evaluate from "../../lib/cli/eval.ts";
import record from "../../lib/cli/record.ts";
import { withEnv } from "../_env.ts";
import { readTape } from "../../lib/testing/index.ts";
import { type Place, place } from "../_place.ts";

const lib = (path: string) => fileURLToPath(new URL(`../../lib/${path}`, import.meta.url));

/**
 * An agent that looks, pushes by force if it is asked to push, and says "good" or "bad": in an eval as `toss` says, one letter a run,
 * else "good". A hook that asks its model is told yes. What the model is really asked is noted in `asked`.
 */
const AGENT = `
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { agent, tool } from "${lib("index.ts")}";
import { scripted } from "${lib("testing/scripted.ts")}";
const at = (path) => new URL(path, import.meta.url);
const ended = () => existsSync(at(".crochet/evals/last/runs.jsonl"))
  ? readFileSync(at(".crochet/evals/last/runs.jsonl"), "utf8").split("\\n").length - 1 : 0;
const then = ({ system = "", messages }) => {
  const isHook = String(system).includes("policy check");
  appendFileSync(at("asked"), (isHook ? "hook" : messages.length) + "\\n");
  if (isHook) return { text: '{"ok": true}' };
  const said = messages.filter(({ role }) => role === "assistant").length;
  if (said === 0) return { tools: [{ name: "look", input: {} }] };
  if (said === 1 && JSON.stringify(messages[0]).includes("Push")) return { tools: [{ name: "push", input: { force: true } }] };
  const toss = existsSync(at("toss")) ? readFileSync(at("toss"), "utf8") : "P";
  return { text: existsSync(at(".crochet/evals/last")) && toss[ended() % toss.length] === "F" ? "bad" : "good" };
};
const look = tool({ name: "look", description: "Looks", input: { type: "object", properties: {} }, run: () => "a branch" });
const push = tool({ name: "push", description: "Pushes", input: { type: "object", properties: { force: { type: "boolean" } } }, run: ({ force }) => force ? "forced" : "pushed" });
export default agent({ from: import.meta.url, name: "pusher", system: "You push.", tools: [look, push], model: scripted([], { then }),
  permissions: { mode: "bypassPermissions" } });
`;

const GOOD = `export default [{
  name: "it is good",
  broken: ({ results }) => results.at(-1).text === "good" ? undefined : "it said " + results.at(-1).text,
}];\n`;

/** A project with a fixture for each name; one that is named "notes…" was never asked to push. */
export async function pushed(names: readonly string[], files: Readonly<Record<string, string>> = {}): Promise<Place> {
  const w = place({ "agent.ts": AGENT, "fixtures/invariants.ts": GOOD, ...files });
  for (const name of names) {
    const prompt = name.startsWith("notes") ? "Look" : "Push";
    const { code, err } = await withEnv({ CI: undefined }, () => w.call(record, "agent.ts", prompt, "--fixture", name));
    assert.equal(code, 0, err);
  }
  return w;
}

/** An eval about hooks whose runs come one after the other, each as a letter says; and what the model was asked in it. */
export async function changed(w: Place, toss: string, ...args: string[]) {
  w.put({ toss });
  rmSync(`${w.cwd}/asked`, { force: true });
  const came = await w.call(evaluate, "--trust", "--at-once", "1", ...args);
  const asked = existsSync(`${w.cwd}/asked`) ? readFileSync(`${w.cwd}/asked`, "utf8").trimEnd().split("\n") : [];
  return { ...came, asked };
}

/** Hooks that speak where the agent pushes, each in another way. */
export const HOOKS = {
  "deny/pre-tool-use@push.no-force.ts":
    `export default ({ input }) => input.force ? { action: "deny", reason: "No force" } : undefined;\n`,
  "rewrite/pre-tool-use@push.plain.ts":
    `export default ({ input }) => ({ action: "modify", value: { ...input, force: false } });\n`,
  "context/post-tool-use@push.tell.ts": `export default () => ({ action: "continue", context: "Others wait" });\n`,
  "stop/stop.again.ts":
    `let n = 0;\nexport default () => n++ === 0 ? { action: "deny", reason: "Look again" } : undefined;\n`,
  "halt/pre-tool-use@push.enough.ts": `export default () => ({ action: "halt", reason: "Enough" });\n`,
  "ask/pre-tool-use@push.fine.prompt.md": "Is {{tool_name}} fine?\n",
  "silent/pre-tool-use.nothing.ts": `export default () => undefined;\n`,
  "allow/pre-tool-use@push.fine.ts": `export default () => ({ action: "allow" });\n`,
};

/** What a kept run asked. */
export async function requestsOf(w: Place, run: string) {
  const { calls } = await readTape(`${w.cwd}/.crochet/evals/last/${run}/tape.jsonl`);
  return calls.map(({ request: { wire: _, ...request } }) => JSON.stringify(request));
}
