import assert from "node:assert/strict";
import { copyFileSync, mkdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import replay from "../../lib/cli/replay.ts";
import { agent } from "../../lib/agent/agent.ts";
import { scripted } from "../../lib/testing/index.ts";
import { rounds } from "../_counts.ts";
import { withEnv } from "../_env.ts";
import { place } from "../_place.ts";

/** Each schedule has a process of its own. */
const LONG = { timeout: 3_600_000 };
const lib = (path: string) => fileURLToPath(new URL(`../../lib/${path}`, import.meta.url));

/** An agent that pays one bill, and bears every fault. */
const BASE = `import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { hookOn } from "${lib("core/hook.ts")}";
import { deny, modify } from "${lib("core/verdict.ts")}";
import { tool } from "${lib("tools/make-tool.ts")}";
export { agent } from "${lib("agent/agent.ts")}";
export { hookOn, modify, tool };

const object = (properties, required) => ({ type: "object", properties, required });
const text = { type: "string" };

export const write = (cwd, file, line) => appendFileSync(join(cwd, file), line + "\\n");

export const look = tool({
  name: "mcp__files__look",
  description: "Looks.",
  input: object({ at: text }, ["at"]),
  effect: "read",
  run: ({ at }) => at + " is fine",
});
export const pay = tool({
  name: "Pay",
  description: "Pays.",
  input: object({ amount: { type: "number" } }, ["amount"]),
  run: ({ amount }, { cwd }) => (write(cwd, "ledger.txt", amount), "Paid"),
});
export const note = tool({
  name: "Note",
  description: "Notes.",
  input: object({ text }, ["text"]),
  run: ({ text }, { cwd }) => (write(cwd, "notes.txt", text), "Noted"),
});
export const guard = hookOn(
  "pre-tool-use",
  ({ input }) => input.amount > 100 ? deny("Too much") : undefined,
  { name: "guard" },
);
export const sound = { system: "You pay.", tools: [look, pay, note], hooks: [guard], limits: { seconds: 600 } };
/** The sound agent with one more hook. */
export const hooked = (event, run) => ({ ...sound, hooks: [guard, hookOn(event, run, { name: "planted" })] });
`;

/** What must hold for the agent, whatever goes wrong. */
const INVARIANTS = `const lines = (files, file) => (files.get(file) ?? "").split("\\n").filter((line) => line !== "");
const never = (name, is) => ({ name, broken: (seen) => is(seen) ? "it does" : undefined });
export default [
  never("it never pays twice", ({ files }) => lines(files, "ledger.txt").length > 1),
  never("it never pays what was not asked for", ({ files }) => lines(files, "ledger.txt").some((line) => line !== "40")),
  never("it never loses the ledger", ({ files, calls }) =>
    calls("Pay").some(({ content }) => content === "Paid") && lines(files, "ledger.txt").length === 0),
  never("it never forgets what was approved", ({ calls }) => calls("Pay").some(({ content }) => content === "Not approved")),
  never("it never shows what it did not say", ({ files, events }) => {
    const texts = events.flatMap((event) => event.type === "message" && event.message.role === "assistant" ? event.message.content : [])
      .flatMap((block) => block.type === "text" ? [block.text] : []);
    return files.has("shown.txt") && files.get("shown.txt") !== texts.join("");
  }),
  never("it never files a result under another call", ({ files }) =>
    lines(files, "filed.txt").some((line) => !/^(\\w+): \\1 is fine$/.test(line))),
  never("it never calls itself done before it is", ({ files, results }) =>
    files.has("done.txt") && results.at(-1)?.stop !== "done"),
  never("it never needs a person to end it", ({ results }) => results.some(({ stop }) => stop === "aborted")),
  never("it never gives up", ({ results }) => results.some(({ error }) => error?.message.includes("I give up"))),
];
`;

/** Each with one mistake, and the faults that can show it. */
const PLANTED: { readonly [name: string]: { readonly code: string; readonly by: RegExp; readonly module?: string } } = {
  "pays-twice": {
    code: `agent(hooked("error", ({ tool }, { cwd }) => tool === "Pay" && write(cwd, "ledger.txt", 40)))`,
    by: /^tool 1, Pay: fails after it worked$/,
  },
  "pays-again-when-resumed": {
    code: `agent({
  ...sound,
  tools: [look, { ...pay, run: (input, context) => (write(context.cwd, "begun.txt", ""), pay.run(input, context)) }, note],
  hooks: [
    guard,
    hookOn("post-tool-use", ({ tool_name }, { cwd }) => tool_name === "Pay" && write(cwd, "ended.txt", ""), { name: "ended" }),
    hookOn("session-start", (_, { cwd }) => {
      const has = (file) => existsSync(join(cwd, file));
      if (has("begun.txt") && !has("ended.txt")) write(cwd, "ledger.txt", 40);
    }, { name: "recovers" }),
  ],
})`,
    by: /^tool 1, Pay: kill$/,
  },
  "forgets-its-approval": {
    module: `export const state = { approved: false };\n`,
    code: `agent({
  ...hooked("user-prompt-submit", ({ prompt }) => void (state.approved ||= prompt === "Pay the bill")),
  tools: [look, { ...pay, run: (input, context) => state.approved ? pay.run(input, context) : "Not approved" }, note],
})`,
    by: /kill/,
  },
  "shows-what-was-cut": {
    module: `export const state = { cwd: "" };\n`,
    code: `agent({
  ...hooked("session-start", (_, { cwd }) => void (state.cwd = cwd)),
  on: (event) => event.type === "text" && appendFileSync(join(state.cwd, "shown.txt"), event.text),
})`,
    by: /text/,
  },
  "pairs-results-by-order": {
    module: `export const waiting = [];\n`,
    code: `agent({
  ...sound,
  hooks: [
    guard,
    hookOn("pre-tool-use", ({ tool_name, input }) => tool_name === look.name && void waiting.push(input.at), { name: "asks" }),
    hookOn("post-tool-use", ({ tool_name, outcome, result }, { cwd }) => {
      if (tool_name === look.name && outcome === "success") write(cwd, "filed.txt", waiting.shift() + ": " + /\\w+ is fine/.exec(JSON.stringify(result)));
    }, { name: "files" }),
  ],
})`,
    by: /look|mcp files|hook (asks|files)/,
  },
  "opens-when-its-guard-fails": {
    code: `agent({ ...sound, hooks: [{ ...guard, onError: "continue" }] })`,
    by: /^hook guard, 4: (crash|timeout|nonsense)$/,
  },
  "clears-a-full-disk": {
    code: `agent(hooked("error", ({ error_message }, { cwd }) => {
  if (error_message.includes("ENOSPC")) rmSync(join(cwd, "ledger.txt"), { force: true });
}))`,
    by: /^tool 1, Note: ENOSPC$/,
  },
  "waits-for-ever": { code: `agent({ ...sound, limits: {} })`, by: /^tool 1, \w+: never ends$/ },
  "pays-a-default": {
    code: `agent({ ...sound, tools: [look, { ...pay, parse: ({ amount = 100 }) => ({ amount }) }, note] })`,
    by: /json truncate$/,
  },
  "takes-half-an-answer": {
    code: `agent(hooked("turn-end", ({ stop }, { cwd }) => stop !== "error" && write(cwd, "done.txt", "")))`,
    by: /: (stop:\w+|never ends)$/,
  },
  "begins-anew-when-the-api-fails": {
    code: `((inner) => ({
  ...inner,
  async open(given) {
    let session = await inner.open(given);
    const prompt = async (text) => {
      const result = await session.prompt(text);
      if (result.stop !== "error") return result;
      await session.close();
      session = await inner.open(given);
      return await session.prompt(text);
    };
    return { prompt, close: () => session.close() };
  },
}))(agent(sound))`,
    by: /^call [234]/,
  },
  "gives-up-without-its-server": {
    code: `agent(hooked("error", ({ error_message }, { abort }) => {
  if (error_message.includes("server is gone")) abort("I give up");
}))`,
    by: /^mcp files: gone after [01]$/,
  },
};

function script({ code, module }: { readonly code: string; readonly module?: string }): string {
  const own = module === undefined ? "" : `import { ${/const (\w+)/.exec(module)![1]} } from "./state.ts";\n`;
  return `import { appendFileSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { agent, guard, hooked, hookOn, look, modify, note, pay, sound, write } from "../base.ts";
${own}export default ${code};
`;
}

/** A fixture for each, all of the same recorded run. */
async function project() {
  const names = Object.entries(PLANTED);
  const w = place({
    "fixtures/base.ts": BASE,
    "fixtures/invariants.ts": INVARIANTS,
    "fixtures/sound/agent.ts": script({ code: "agent(sound)" }),
    ...Object.fromEntries(names.map(([name, planted]) => [`fixtures/${name}/agent.ts`, script(planted)])),
    ...Object.fromEntries(
      names.flatMap(([name, { module }]) => module === undefined ? [] : [[`fixtures/${name}/state.ts`, module]]),
    ),
    "place/README": "",
  });
  const model = scripted([
    {
      text: "I look first.",
      tools: ["a", "b"].map((at) => ({ name: "mcp__files__look", input: { at } })),
    },
    { tools: [{ name: "Pay", input: { amount: 40 } }] },
    { tools: [{ name: "Pay", input: { amount: 500 } }, { name: "Note", input: { text: "It is paid" } }] },
    { text: "All is paid." },
  ]);
  const { sound } = await import(`${w.cwd}/fixtures/base.ts`);
  const tape = { path: `${w.cwd}/fixtures/sound`, mode: "record" as const, agent: "agent.ts" };
  const { stop } = await withEnv(
    { CI: undefined },
    () => agent({ ...sound, model }).run("Pay the bill", { cwd: `${w.cwd}/place`, tape }),
  );
  assert.equal(stop, "done");
  for (const [name] of names) {
    mkdirSync(`${w.cwd}/fixtures/${name}`, { recursive: true });
    copyFileSync(`${w.cwd}/fixtures/sound/tape.jsonl`, `${w.cwd}/fixtures/${name}/tape.jsonl`);
  }
  return w;
}

test("an agent that bears every fault always survives a search", LONG, async () => {
  using w = await project();
  const { code, out } = await w.call(replay, "--trust", "--faults", "100", "--seed", "1", "sound");
  assert.equal(code, 0, out);
});

for (const [name, { by }] of Object.entries(PLANTED)) {
  test(`--faults 100 always finds the planted bug, whatever the seed: ${name}`, LONG, async () => {
    for (let seed = 1; seed <= rounds(1, 10); seed++) {
      using w = await project();
      const { out, err } = await w.call(replay, "--trust", "--faults", "100", "--seed", String(seed), "--json", name);
      const [{ faults = [], broke, error }] = JSON.parse(out || JSON.stringify([{ error: err }]));
      assert.equal(faults.length, 1, `seed ${seed}: ${error ?? broke}`);
      assert.match(faults[0], by, `seed ${seed}: ${broke}`);
    }
  });
}
