import assert from "node:assert/strict";
import { agent } from "../../../lib/agent/agent.ts";
import evaluate from "../../../lib/extensions/eval/command.ts";
import { runsIn } from "../../../lib/cli/kit/known-fixtures.ts";
import { trustFixtures } from "../../../lib/hooks/hook-trust.ts";
import { scripted } from "../../../lib/testing/index.ts";
import { withEnv } from "../../_env.ts";
import { type Place, place } from "../../_place.ts";
import { LIB } from "../../_runtime.ts";

/** An invariant that a run passes if the agent said "good". */
export const GOOD = `export default [{
  name: "it is good",
  broken: ({ results }) => results.at(-1).text === "good" ? undefined : "it said " + results.at(-1).text,
}];\n`;

/**
 * An agent whose runs come out as a text says, one letter a run of its eval: P says "good", F "bad", L gets HTTP 529, R 429, E an
 * error of its own. Which one it is depends on how many runs have ended, so that a killed eval goes on with the next.
 */
export const tosser = (outcomes: string, more = "") => `
import { existsSync, readFileSync } from "node:fs";
import { agent } from "${LIB}/agent/agent.ts";
import { scripted } from "${LIB}/models/scripted.ts";
const log = new URL("${more}.crochet/evals/last/runs.jsonl", import.meta.url);
const ended = () => existsSync(log) ? readFileSync(log, "utf8").split("\\n").length - 1 : 0;
const said = { P: { text: "good" }, F: { text: "bad" }, L: { http: 529 }, R: { http: 429 }, E: { http: 400 } };
const outcomes = "${outcomes}";
const then = () => ({ ...said[outcomes[ended() % outcomes.length]], delay: Number(process.env.TOSS_MS ?? 0) });
export default agent({ from: import.meta.url, name: "tosser", system: "You toss.", model: scripted([], { then }) });
`;

/** A project with fixtures, each recorded with a run that said "good", and an agent that tosses. */
export async function tossed(outcomes: string, names: readonly string[] = ["toss"]): Promise<Place> {
  const w = place({ "agent.ts": tosser(outcomes, "./"), "fixtures/invariants.ts": GOOD });
  for (const name of names) {
    const tape = { path: `${w.cwd}/fixtures/${name}`, mode: "record" as const, agent: "../../agent.ts" };
    const recorder = agent({ name: "tosser", system: "You toss.", model: scripted([{ text: "good" }]) });
    w.put({ [`fixtures/${name}/files/README`]: "a\n" });
    const { stop } = await withEnv({ CI: undefined }, () => recorder.run("Toss", { cwd: w.cwd, tape }));
    assert.equal(stop, "done");
  }
  await trustFixtures(w.cwd, w.env, runsIn(w.cwd));
  return w;
}

/** An eval whose runs come one after the other. */
export function evaluated(w: Place, ...args: string[]) {
  return w.call(evaluate, "--at-once", "1", ...args);
}
