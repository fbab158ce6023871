import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { pathFrom } from "../../../cli/show/call-subject.ts";
import { isObject } from "../../../core/json.ts";
import { writing } from "../../../files/drafts.ts";
import { readHookFile } from "../../../hooks/discover.ts";
import { sidecarsOf } from "../../../hooks/file/example-files.ts";
import type { HookExample } from "../examples/example.ts";
import type { CheckSession } from "../check.ts";
import { examplesOf, played } from "../examples/of-hook.ts";
import { type LaneAsker, Lanes } from "../hook-lane.ts";
import type { Finding, HookReport } from "../check-report.ts";
import { plainExample, tryMutants } from "./mutants.ts";

/** Tries mutants of a hook, and writes down the examples that it lacks, as far as the check is asked to. */
export async function missingExamples(
  asker: LaneAsker,
  session: CheckSession,
  findings: readonly Finding[],
): Promise<Pick<HookReport, "mutants" | "saved">> {
  const { file: path, event } = asker.subject;
  const examples = await examplesOf(asker);
  // A mutant is judged by examples that hold.
  if (path === undefined || examples instanceof Error || findings.some(({ law }) => law === "examples")) return {};
  const file = readHookFile(path, event);
  const mutants = session.mutants ? await tryMutants(asker, file, examples, session) : undefined;
  const telling = mutants?.survived.flatMap(({ example }) => example ? [example] : []) ?? [];
  const broken = session.save ? await lawBreakers(asker, session, findings) : [];
  const found = [...new Set([...telling, ...broken])];
  const saved = session.save && found.length > 0 ? await save(file.at, found) : undefined;
  return {
    ...(mutants && { mutants }),
    ...(saved !== undefined && { saved: { file: pathFrom(session.cwd, saved), examples: found.length } }),
  };
}

const FIELDS = ["tool_name", "prompt", "message", "source", "last_assistant_message", "stop_hook_active"];

/** Events to which the hook gives no lawful answer. Each is an example that fails until the hook is corrected. */
async function lawBreakers(
  asker: LaneAsker,
  { cwd }: CheckSession,
  findings: readonly Finding[],
): Promise<HookExample[]> {
  using lanes = new Lanes(asker.lane);
  const found: HookExample[] = [];
  for (const { law, severity, counterexample, message } of findings) {
    if (severity !== "fault" || !["reliable", "protocol"].includes(law) || !isObject(counterexample)) continue;
    const { tool_input, input = tool_input } = counterexample;
    const fields = Object.entries(counterexample).filter(([field]) => FIELDS.includes(field));
    const plain = { ...Object.fromEntries(fields), ...(input !== undefined && { tool_input: input }) };
    const event: NonNullable<HookExample["event"]> = JSON.parse(JSON.stringify(plain).replaceAll(`${cwd}/`, ""));
    const { ok } = await played(plainExample({ event, expect: "any" }), asker, lanes);
    if (!ok) found.push({ name: `answers: ${message}`.slice(0, 120), event, expect: "any" });
  }
  return found;
}

/** Adds examples to the file beside the hook. @throws {TypeError} if it would then not be one of examples */
async function save(path: string, examples: readonly HookExample[]): Promise<string> {
  const { stringify } = await import("yaml");
  const here = sidecarsOf(path);
  const file = here.find((one) => existsSync(one)) ?? here.filter((one) => dirname(one) === dirname(path)).at(-1)!;
  const before = existsSync(file) ? readFileSync(file, "utf8") : "";
  const added = `${before === "" || before.endsWith("\n") ? "" : "\n"}${stringify(examples, { lineWidth: 0 })}`;
  const { readYaml } = await import("../../../hooks/yaml.ts");
  const value = await readYaml(before + added, basename(file)).then((yaml) => yaml.value, () => undefined);
  if (!Array.isArray(value)) {
    throw new TypeError(`Cannot add examples to '${file}': it is not a list with a '-' for each. Write it as one`);
  }
  writing(file, () => appendFileSync(file, added));
  return file;
}
