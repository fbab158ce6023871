import { existsSync } from "node:fs";
import { isObject } from "../../core/json.ts";
import { readHookFile } from "../../hooks/discover.ts";
import { type Example, readExamples, sidecarsOf, type Workspace } from "../examples/example.ts";
import { arrange, playExample } from "../examples/play.ts";
import type { Findings } from "./findings.ts";
import { Asker, Lane } from "./lane.ts";
import type { State } from "./laws/terminating.ts";

/** The examples that a hook carries. Those of a module come from its own process: it is never run in this one. */
export async function examplesOf({ subject, loaded }: Asker): Promise<readonly Example[] | Error> {
  if (subject.file === undefined) return [];
  if (subject.kind === "module") return loaded.examples ?? [];
  if (!sidecarsOf(subject.file).some((path) => existsSync(path))) return [];
  return await readExamples(readHookFile(subject.file, subject.event)).catch((error: Error) => error);
}

/** Texts of the events in a hook's examples: what it looks for, as it declares it. */
export async function exampleTexts(asker: Asker): Promise<readonly string[]> {
  const examples = await examplesOf(asker);
  const textsIn = (value: unknown): string[] =>
    typeof value === "string" ? [value] : isObject(value) ? Object.values(value).flatMap(textsIn) : [];
  return examples instanceof Error ? [] : examples.flatMap(({ event }) => textsIn(event)).slice(0, 40);
}

/** Processes of a hook, one for each environment that examples need. */
export class ExampleLanes implements Disposable {
  readonly #asker: Asker;
  readonly #lanes = new Map<string, Lane>();

  constructor(asker: Asker) {
    this.#asker = asker;
  }

  /** A lane in which the hook is loaded as our own loop does: examples use our words. */
  ours(env: Example["env"]): Lane {
    const { subject: { file, event, target }, lane } = this.#asker;
    if (target.type === "file" && Object.keys(env).length === 0) return lane;
    return this.#lane({ type: "file", path: file!, ...(event !== undefined && { event }) }, env);
  }

  /** The hook as it is checked, in the environment of an example. */
  asker(env: Example["env"]): Asker {
    const { subject, loaded, limit, lane } = this.#asker;
    if (Object.keys(env).length === 0) return this.#asker;
    return new Asker(subject, loaded, this.#lane(lane.options.target, env), limit);
  }

  #lane(target: Lane["options"]["target"], env: Example["env"]): Lane {
    const key = JSON.stringify([target, env]);
    const { options } = this.#asker.lane;
    const lane = this.#lanes.get(key) ?? new Lane({ ...options, target, more: { ...options.more, ...env } });
    this.#lanes.set(key, lane);
    return lane;
  }

  [Symbol.dispose](): void {
    for (const lane of this.#lanes.values()) lane.close();
  }
}

/** Plays the examples, and reports those that do not hold. */
export async function playExamples(asker: Asker, lanes: ExampleLanes, findings: Findings): Promise<void> {
  const examples = await examplesOf(asker);
  const wrong = (message: string, event: unknown) =>
    findings.addExample({
      law: "examples",
      code: "example.mismatch",
      severity: "fault",
      message,
      fix: "correct the hook, or the example",
    }, event);
  if (examples instanceof Error) return wrong(examples.message, null);
  for (const example of examples) {
    const file = readHookFile(asker.subject.file!, asker.subject.event);
    const lane = lanes.ours(example.env);
    await lane.open();
    const { ok, why, where, event } = await playExample(example, file, lane, asker.limit);
    if (!ok) wrong(`${where} (${example.name}): ${why}`, event);
  }
}

/** States in which the hook refuses, as its examples say, and the first fix that one names. */
export async function statesOf(
  asker: Asker,
  lanes: ExampleLanes,
): Promise<{ readonly states: readonly State[]; readonly fix?: () => void }> {
  const examples = await examplesOf(asker);
  if (examples instanceof Error) return { states: [] };
  const { fix } = examples.find((example) => example.fix !== undefined) ?? {};
  const refused = examples.filter(({ expect, given, env }) =>
    expect.action === "deny" && (given || Object.keys(env).length > 0)
  );
  return {
    states: refused.map(({ name, given = {}, env }) => ({
      asker: lanes.asker(env),
      about: `the example '${name}'`,
      arrange: () => arranged(given, asker),
    })),
    ...(fix !== undefined && { fix: () => arranged(fix, asker) }),
  };
}

/** What cannot be arranged is reported when the examples are played. */
function arranged(workspace: Workspace, { lane }: Asker): void {
  try {
    arrange(workspace, lane.place);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}
