import { existsSync } from "node:fs";
import { isObject } from "../../../core/json.ts";
import { readHookFile } from "../../../hooks/discover.ts";
import { sidecarsOf } from "../../../hooks/file/example-files.ts";
import { type Example, type ExampleFiles, readExamples } from "./example.ts";
import { arrange, type ExampleResult, playExample } from "./play.ts";
import type { Findings } from "../findings.ts";
import type { Lane, LaneAsker, Lanes } from "../hook-lane.ts";
import { violationsOf } from "../laws/judged.ts";
import type { State } from "../laws/terminating.ts";

/** The examples that a hook carries. Those of a module come from its own process: it is never run in this one. */
export async function examplesOf({ subject, loaded }: LaneAsker): Promise<readonly Example[] | Error> {
  if (subject.file === undefined) return [];
  if (subject.kind === "module") return loaded.examples ?? [];
  if (!sidecarsOf(subject.file).some((path) => existsSync(path))) return [];
  return await readExamples(readHookFile(subject.file, subject.event)).catch((error: Error) => error);
}

/** Texts of the events in a hook's examples: what it looks for, as it declares it. */
export async function exampleTexts(asker: LaneAsker): Promise<readonly string[]> {
  const examples = await examplesOf(asker);
  const textsIn = (value: unknown): string[] =>
    typeof value === "string" ? [value] : isObject(value) ? Object.values(value).flatMap(textsIn) : [];
  return examples instanceof Error ? [] : examples.flatMap(({ event }) => textsIn(event)).slice(0, 40);
}

/** Plays an example to the hook as our own loop loads it: examples use our words. */
export async function played(
  example: Example,
  { subject, lane, limit }: LaneAsker,
  lanes: Lanes,
): Promise<ExampleResult> {
  const { file, event } = subject;
  const ours = { type: "file", path: file!, ...(event !== undefined && { event }) } as const;
  const { target } = lane.options;
  const loaded = lanes.with(example.env, target.type === "file" ? target : ours);
  return await playExample(example, readHookFile(file!, event), loaded, limit);
}

const { fault } = violationsOf("examples", "example");

/** Plays the examples, and reports those that do not hold. */
export async function playExamples(asker: LaneAsker, lanes: Lanes, findings: Findings): Promise<void> {
  const examples = await examplesOf(asker);
  const wrong = (message: string, counterexample: unknown) =>
    findings.addShown(fault("mismatch", message, "correct the hook, or the example"), message, { counterexample });
  if (examples instanceof Error) return wrong(examples.message, null);
  for (const example of examples) {
    if (asker.time.isOver) return;
    const { ok, why, where, event } = await played(example, asker, lanes);
    if (!ok) wrong(`${where} (${example.name}): ${why}`, event);
  }
}

/** States in which the hook refuses, as its examples say, and the first fix that one names. */
export async function statesOf(
  asker: LaneAsker,
  lanes: Lanes,
): Promise<{ readonly states: readonly State[]; readonly fix?: () => void }> {
  const { lane } = asker;
  const examples = await examplesOf(asker);
  if (examples instanceof Error) return { states: [] };
  const { fix } = examples.find((example) => example.fix !== undefined) ?? {};
  const refused = examples.filter(({ expect, given, env }) =>
    expect.action === "deny" && (given || Object.keys(env).length > 0)
  );
  return {
    states: refused.map(({ name, given = {}, env }) => ({
      asker: Object.keys(env).length === 0 ? asker : asker.on(lanes.with(env)),
      about: `the example '${name}'`,
      arrange: () => arranged(given, lane),
    })),
    ...(fix !== undefined && { fix: () => arranged(fix, lane) }),
  };
}

/** What cannot be arranged is reported when the examples are played. */
function arranged(workspace: ExampleFiles, { place }: Lane): void {
  try {
    arrange(workspace, place);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}
