import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { RunOptions } from "../../lib/agent/options.ts";
import { hookOn } from "../../lib/core/hook.ts";
import { agent, deny, tool } from "../../lib/index.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { withEnv } from "../_env.ts";
import { scratch } from "../_scratch.ts";

/** What was asked and done. */
const newWorld = () => ({ put: 0, hooks: 0, person: 0 });

/** Puts something, of which a hook and a person are asked. */
function putter(
  cwd: string,
  world: ReturnType<typeof newWorld>,
  says: { guard: "deny" | "allow"; person: "deny" | "allow" },
) {
  const helper = agent({
    cwd,
    model: scripted([], {
      then: ({ messages }) => {
        const isDone = messages.at(-1)!.content.some(({ type }) => type === "tool_result") || messages.length > 2;
        return isDone ? { text: "done" } : { tools: [{ name: "Put", id: "t1", input: { text: "x" } }] };
      },
    }),
    tools: [tool({
      name: "Put",
      description: "puts",
      effect: "write",
      input: { type: "object", properties: {} },
      run: () => (world.put++, "put it"),
    })],
    permissions: { mode: "default", ask: ["Put"] },
    hooks: [
      hookOn("pre-tool-use", () => (world.hooks++, says.guard === "deny" ? deny("today's guard") : undefined), {
        name: "guard",
      }),
    ],
  });
  const permissionAsker = async () => (world.person++, { behavior: says.person } as const);
  return (prompt: string, own: RunOptions) => helper.run(prompt, { permissionAsker, ...own });
}

/** A log in which Put was allowed and has run; `change` is done to its lines. */
async function recorded<T>(
  change: (lines: string[]) => string[],
  use: (log: string, id: string, cwd: string) => Promise<T>,
) {
  using folder = scratch();
  return await withEnv({ HOME: folder.path }, async () => {
    const log = join(folder.path, "runs");
    const { id, stop } = await putter(folder.path, newWorld(), { guard: "allow", person: "allow" })("go", { log });
    assert.equal(stop, "done");
    const path = join(log, `${id}.jsonl`);
    writeFileSync(path, `${change(readFileSync(path, "utf8").trimEnd().split("\n")).join("\n")}\n`);
    return await use(log, id, folder.path);
  });
}

/** The result of the call goes, and what followed it: it would really run. */
const withoutResult = (lines: string[]) => {
  const kept = lines.filter((line) => !/^\{"(tool|begun)":|"type":"tool_(start|end)"/.test(line));
  const next = kept.findIndex((line) => line.startsWith('{"call":"main#2"'));
  return kept.map((line, i) =>
    i < next && line.startsWith('{"message":2')
      ? JSON.stringify({ message: 2, lane: "main", role: "user", content: [{ type: "text", text: "x" }], at: 1 })
      : line
  );
};

const TODAY = [
  [{ guard: "deny", person: "allow" }, { put: 0, hooks: 1, person: 0 }],
  [{ guard: "allow", person: "deny" }, { put: 0, hooks: 1, person: 1 }],
  [{ guard: "allow", person: "allow" }, { put: 1, hooks: 1, person: 1 }],
] as const;

for (const [says, came] of TODAY) {
  for (const way of ["from", "resume"] as const) {
    test(`${way}: of a call without a result the guard (${says.guard}) and the person (${says.person}) of today decide`, () =>
      recorded((lines) => {
        const kept = withoutResult(lines);
        return way === "from" ? kept : kept.slice(0, kept.findIndex((line) => line.startsWith('{"call":"main#2"')));
      }, async (log, id, cwd) => {
        const world = newWorld();
        const go = putter(cwd, world, says);
        await go("", { log, trust: true, ...(way === "from" ? { from: `${id}#2` } : { resume: id }) });
        assert.deepEqual(world, came);
      }));
  }
}

test("of a call with its result nobody is asked again, whatever they would say today", () =>
  recorded((lines) => lines, async (log, id, cwd) => {
    const world = newWorld();
    const { stop } = await putter(cwd, world, { guard: "deny", person: "deny" })("", { log, from: `${id}#2` });
    assert.deepEqual([stop, world], ["done", newWorld()]);
  }));
