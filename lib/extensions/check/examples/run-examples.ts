import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { shown } from "../../../core/shown.ts";
import { checkOptions, type OptionKind } from "../../../input/options.ts";
import { judging } from "../../../runtime/judging.ts";
import { discover, type HookFile, readHookFile } from "../../../hooks/discover.ts";
import { Lane, Lanes } from "../hook-lane.ts";
import { fill, Scratch } from "../scratch-project.ts";
import { type Example, readExamples } from "./example.ts";
import type { Answered } from "../../../testing/expectation.ts";
import { type ExampleResult, fillEvent, playExample } from "./play.ts";

export interface ExampleOptions {
  /** The event, for a file whose name does not say it: `stop`, `pre-tool-use@Bash`. */
  readonly event?: string;
  /** Seconds a hook has for one answer. @default 10 */
  readonly timeout?: number;
}

interface AskOptions extends ExampleOptions {
  /** Variables the hook finds in its environment. */
  readonly env?: { readonly [name: string]: string };
  /** What the model says that a prompt hook asks. */
  readonly says?: string;
}

/**
 * Runs the examples of a hook file, or of every hook of a folder: each in a project of its own, the hook in a process of
 * its own, so that nothing of yours is touched.
 *
 * @example
 * ```ts
 * import { writeFileSync } from "node:fs";
 * import { runExamples } from "crochet/testing";
 *
 * writeFileSync("pre-tool-use@Bash.no-push.rules", 'args.command contains "git push" -> deny("Pushing is for people")');
 * writeFileSync("pre-tool-use@Bash.no-push.examples.yaml", `
 * - event: { tool_input: { command: git push } }
 *   expect: { deny: /people/ }
 * - event: { tool_input: { command: git status } }
 *   expect: continue
 * `);
 * for (const { name, ok, why } of await runExamples("pre-tool-use@Bash.no-push.rules")) console.log(ok, name, why ?? "");
 * ```
 */
export async function runExamples(path: string | URL, options: ExampleOptions = {}): Promise<readonly ExampleResult[]> {
  const results: ExampleResult[] = [];
  for (const file of hookFiles(path, options)) {
    const examples = await readExamples(file);
    if (examples.length > 0) await eachPlayed(file, examples, options, (result) => void results.push(result));
  }
  return results;
}

/** How a test runner takes a test: `test` of bun:test, node:test or vitest, or `Deno.test`. */
type RegisterTest = (name: string, run: () => Promise<void>) => unknown;

/**
 * Makes a test of each example of a hook file, or of every hook of a folder.
 *
 * @example
 * ```ts
 * import { writeFileSync } from "node:fs";
 * import { testExamples } from "crochet/testing";
 *
 * writeFileSync("stop.sh", "#!/bin/sh\nexit 0\n");
 * writeFileSync("stop.examples.yaml", "- name: lets the agent stop\n  expect: continue\n");
 * // In a test file of bun test, deno test or node --test one line is all: await testExamples("hooks");
 * await testExamples("stop.sh", (name) => console.log(name)); // "stop.sh: lets the agent stop"
 * ```
 */
export async function testExamples(
  path: string | URL,
  test?: RegisterTest,
  options: ExampleOptions = {},
): Promise<void> {
  if (test !== undefined && typeof test !== "function") {
    const fix = "pass the runner's own 'test', then the options";
    throw new TypeError(`Cannot test the examples of '${fullPath(path)}': ${shown(test)} is not a function: ${fix}`);
  }
  const register = test ?? (await import("node:test")).test as unknown as RegisterTest;
  // All are read first: once it has a test, Deno passes over what a file throws.
  const planned: [HookFile, Example][] = [];
  for (const file of hookFiles(path, options)) {
    for (const example of await readExamples(file)) planned.push([file, example]);
  }
  for (const [file, example] of planned) {
    const played = () =>
      eachPlayed(file, [example], options, ({ ok, why, where, event }) => {
        if (!ok) throw new Error(`${why}\n  in ${where}\n  asked about ${JSON.stringify(event)}`);
      });
    register(`${file.name}: ${example.name}`, () => judging(played));
  }
  if (planned.length > 0) return;
  const fix = "Export examples from a module, or write '<hook>.examples.yaml'";
  throw new TypeError(`Cannot test the examples of '${fullPath(path)}': there are none. ${fix}`);
}

/**
 * Asks a hook file about one event; fields you omit get typical values. `toDeny()` and the other matchers read the
 * answer. The hook has a process of its own, which stays until another hook is asked: as in a session, a module is
 * loaded once, and its project is put back after every answer.
 *
 * @example
 * ```ts
 * import { writeFileSync } from "node:fs";
 * import { askHook } from "crochet/testing";
 *
 * writeFileSync("stop.sh", '#!/bin/sh\necho "Not yet" >&2\nexit 2\n');
 * const { opinion } = await askHook("stop.sh");
 * console.log(opinion?.decision); // "deny"
 * ```
 */
export async function askHook(
  path: string | URL,
  event: { readonly [field: string]: unknown } = {},
  options: AskOptions = {},
): Promise<Answered> {
  const [file, second] = hookFiles(path, options);
  if (!file || second) {
    throw new TypeError(
      `Cannot ask '${fullPath(path)}': it is a folder with ${file ? "several hooks" : "no hook"}. Name a hook file`,
    );
  }
  const { timeout = 10, says } = options;
  return await inLastLane(file, options, (lane) =>
    lane.ask({
      event: fillEvent(event, file, lane.place.project),
      limit: 1000 * timeout,
      ...(says !== undefined && { says }),
    }));
}

/** The hook that was asked last stays loaded: a process takes longer to start than a module takes to answer. */
let last: ReturnType<typeof openLane> & { readonly key: string; used: Promise<unknown> } | undefined;

async function inLastLane<T>(file: HookFile, options: AskOptions, work: (lane: Lane) => Promise<T>): Promise<T> {
  const key = JSON.stringify([file.at, file.text, options.event, options.env]);
  if (last?.key !== key) {
    if (last) last.used.then(last.close, last.close);
    else process.once("exit", () => last?.close());
    const opened = openLane(file, options);
    last = { ...opened, key, used: fill(opened.lane.place) };
  }
  const { lane, used } = last;
  const worked = used.then(() => work(lane));
  last.used = worked.catch(() => {});
  return await worked;
}

const OPTIONS: { readonly [option in keyof AskOptions]-?: OptionKind } = {
  event: "a text",
  timeout: "more than 0",
  env: "an object",
  says: "a text",
};

function hookFiles(given: string | URL, options: AskOptions): readonly HookFile[] {
  const path = fullPath(given);
  checkOptions(options, OPTIONS, `ask '${path}'`);
  const { event } = options;
  if (!existsSync(path)) throw new TypeError(`Cannot find hooks in '${path}': there is no such file or folder`);
  if (!statSync(path).isDirectory()) return [readHookFile(path, event)];
  const { files, problems: [problem] } = discover(path);
  if (problem) throw new TypeError(problem.message);
  return files;
}

function fullPath(path: string | URL): string {
  return resolve(typeof path === "string" ? path : fileURLToPath(path));
}

async function eachPlayed(
  file: HookFile,
  examples: readonly Example[],
  options: ExampleOptions,
  take: (result: ExampleResult) => void,
): Promise<void> {
  const { lane, close } = openLane(file, options);
  try {
    await fill(lane.place);
    using lanes = new Lanes(lane);
    const limit = 1000 * (options.timeout ?? 10);
    for (const example of examples) take(await playExample(example, file, lanes.with(example.env), limit));
  } finally {
    close();
  }
}

/** The hook in a project of its own, in a process of its own. */
function openLane({ at }: HookFile, { event, env = {} }: AskOptions) {
  const scratch = new Scratch();
  const lane = new Lane({
    target: { type: "file", path: at, ...(event !== undefined && { event }) },
    place: scratch.place(),
    host: "claude",
    env: process.env,
    more: env,
    sandbox: false,
    visible: [],
  });
  const close = () => {
    lane.close();
    scratch.close();
  };
  return { lane, close };
}
