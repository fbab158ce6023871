import { existsSync } from "node:fs";
import { readHookFile } from "../../hooks/discover.ts";
import type { Example, Workspace } from "../examples/example.ts";
import { arrange, playExample } from "../examples/play.ts";
import { readExamples } from "../examples/read.ts";
import { sidecarsOf } from "../examples/sidecars.ts";
import type { Asker } from "./asking/asker.ts";
import type { Findings } from "./report/findings.ts";
import { Lane } from "./asking/lane.ts";
import type { State } from "./laws/starts.ts";

/** Plays the examples a hook carries, where it is a file of its own. */
export async function playExamples(asker: Asker, findings: Findings): Promise<void> {
  const { subject, limit } = asker;
  const examples = subject.file === undefined ? [] : await examplesOf(asker).catch((error: Error) => error);
  const wrong = (message: string, event: unknown) =>
    findings.addExample({
      law: "examples",
      code: "examples.differs",
      severity: "fault",
      message,
      mend: "mend the hook, or the example",
    }, event);
  if (examples instanceof Error) return wrong(examples.message, null);
  if (examples.length === 0) return;
  const file = readHookFile(subject.file!, subject.event);
  const own = new Map<string, Lane>();
  try {
    for (const example of examples) {
      const lane = await laneFor(example, asker, own);
      const { ok, why, where, event } = await playExample(example, file, lane, limit);
      if (!ok) wrong(`${where} (${example.name}): ${why}`, event);
    }
  } finally {
    for (const lane of own.values()) lane.close();
  }
}

/** The process of the check, or one of its own for an example that needs another environment. */
async function laneFor({ env }: Example, asker: Asker, own: Map<string, Lane>): Promise<Lane> {
  const key = JSON.stringify(env);
  if (key === "{}" && asker.subject.target.type === "file") return asker.lane;
  let lane = own.get(key);
  if (!lane) {
    own.set(key, lane = new Lane({ ...asker.lane.options, target: targetOf(asker), more: env }));
    await lane.open();
  }
  return lane;
}

/** A command is asked as our own loop asks it: examples are written in our words. */
function targetOf({ subject }: Asker) {
  return { type: "file", path: subject.file!, ...(subject.event !== undefined && { event: subject.event }) } as const;
}

/** Those of a module come from the process it was loaded in: here it is never run. */
async function examplesOf({ subject, loaded }: Asker): Promise<readonly Example[]> {
  if (subject.kind === "module") return loaded.examples ?? [];
  return sidecarsOf(subject.file!).some((path) => existsSync(path))
    ? await readExamples(readHookFile(subject.file!, subject.event))
    : [];
}

/** States of the project in which the hook refuses, as its examples tell: few hooks refuse in a project that is in order. */
export async function statesOf(asker: Asker): Promise<readonly State[]> {
  if (asker.subject.file === undefined) return [];
  const examples = await examplesOf(asker).catch(() => []);
  return examples.flatMap(({ name, given, expect }) =>
    given === undefined || expect.action !== "deny"
      ? []
      : [{ about: `the example '${name}'`, arrange: arranging(given, asker) }]
  );
}

/** What a good agent does about it, by the first example that has a fix. */
export async function fixOf(asker: Asker): Promise<(() => void) | undefined> {
  if (asker.subject.file === undefined) return undefined;
  const examples = await examplesOf(asker).catch(() => []);
  const fix = examples.find((example) => example.fix !== undefined)?.fix;
  return fix === undefined ? undefined : arranging(fix, asker);
}

/** What cannot be made so is told of where the examples are played. */
function arranging(workspace: Workspace, { lane }: Asker): () => void {
  return () => {
    try {
      arrange(workspace, lane.place);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
  };
}
