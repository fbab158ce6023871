import { cpSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { modelOf } from "../../agent/named-model.ts";
import type { Agent } from "../../agent/options.ts";
import { readUser } from "../../agent/simulated-user.ts";
import { price } from "../../models/anthropic/prices.ts";
import { isObject } from "../../core/json.ts";
import { NO_USAGE } from "../../core/messages.ts";
import { isInside } from "../../files/confine.ts";
import { commandWords, PROMPT } from "./command-words.ts";
import { graderFiles } from "./grade.ts";
import { type EvalPlan, planned, type PlannedFixture } from "./plan.ts";
import { readYaml } from "../../hooks/yaml.ts";
import { nearest } from "../../input/nearest.ts";
import { optionFault } from "../../input/options.ts";
import { TAPE_VERSION } from "../../log/entry.ts";
import type { Permissions } from "../../permissions/rules.ts";
import { fixtureAt } from "../../replay/fixture.ts";
import { type SimulatedUser, USER_FILE } from "../../replay/run-on-tape.ts";
import { applyChanges, hashFiles } from "../../replay/scratch.ts";
import { writeTape } from "../../replay/write-tape.ts";
import { BUILT_IN } from "../../runtime/importing.ts";
import { hashOf } from "../../runtime/sha256.ts";
import { asUsage, type Io, UsageError } from "../../cli/kit/io.ts";
import { permissionsFrom } from "../../cli/kit/run-options.ts";
import { builtIn, loadAgent } from "../../cli/kit/script.ts";
import { removeTree } from "../../files/tree.ts";

const TEXTS = "a list of texts";
const WORDS = "a text or a list of texts";
export const FILE = { agent: "a text", command: WORDS, permissions: "an object", cases: "a list" } as const;
const TEXT = "a text";
export const CASE = { name: TEXT, prompt: TEXT, prompts: TEXTS, user: TEXT, files: "any", grade: TEXT } as const;
const TEXT_FILES = { files: "texts by name" } as const;
const MODES = ["default", "acceptEdits", "plan", "bypassPermissions"];
export const RULES = { mode: MODES, allow: TEXTS, ask: TEXTS, deny: TEXTS } as const;

/** What an agent is to do, with no recording of it. */
interface Case {
  readonly name: string;
  readonly prompts: readonly string[];
  /** The file of a simulated user, in place of prompts. */
  readonly user?: string;
  /** A folder, or texts by path. */
  readonly files: string | { readonly [path: string]: string };
  /** A shell line. @default the graders in `cases/NAME` */
  readonly grade?: string;
}

interface CaseFile {
  readonly agent?: string;
  /** A program in place of the agent: words, or a shell line, in which `{prompt}` is the prompt. */
  readonly command?: string | readonly string[];
  readonly permissions?: Permissions;
  readonly cases: readonly Case[];
}

/** Makes fixtures of a file's cases: tapes without calls. @throws {UsageError} if the file is wrong, or a case not what it `was` */
export async function makeCases(
  file: string,
  names: readonly string[],
  folder: string,
  { cwd, signal }: Pick<Io, "cwd" | "signal">,
  { was, model }: { readonly was?: EvalPlan; readonly model?: string | undefined },
): Promise<readonly PlannedFixture[]> {
  const beside = dirname(resolve(cwd, file));
  const { agent: script, cases, ...rest } = await readCases(resolve(cwd, file), file);
  const chosen = names.length === 0 ? cases : names.map((name) => {
    const near = nearest(name, cases.map((one) => one.name));
    const found = cases.find((one) => one.name === name);
    if (found) return found;
    throw new UsageError(`Cannot find case '${name}' in ${file}: did you mean '${near}'?`);
  });
  const from = script === undefined ? BUILT_IN : resolve(beside, script);
  const agent = rest.command
    ? undefined
    : await (from === BUILT_IN ? builtIn() : loadAgent(from, { signal })).catch(asUsage);
  const at = { beside, file, folder, cwd, was, model };
  return await casesFor({ ...rest, ...(agent && { agent, from }), cases: chosen }, at);
}

/** Makes fixtures of the cases of a file, or of a test if there is none: that grades by itself. */
export async function casesFor(
  { agent, from, command, cases, ...rules }: Omit<CaseFile, "agent"> & { agent?: Agent; from?: string },
  { beside, file, folder, cwd, was, model }:
    & { readonly [at in "beside" | "folder" | "cwd"]: string }
    & { readonly file?: string; readonly was?: EvalPlan | undefined; readonly model?: string | undefined },
): Promise<readonly PlannedFixture[]> {
  const ruled = agent && { permissions: { ...permissionsFrom({}, rules.permissions, agent.permissions) } };
  /** 0, or undefined if one of its models has no price; what a command asks, no one knows before. */
  const dollarsOf = (user: SimulatedUser | undefined) => {
    if (!agent) return 0;
    const priced = (name: string) => price(name, NO_USAGE, agent.prices);
    const asked = model ?? modelOf(agent.model, true).modelName;
    return priced(asked) === undefined ? undefined : priced(user?.modelName ?? asked);
  };
  const isFile = (word: string) => existsSync(resolve(beside, word));
  const all = await Promise.all(cases.map(async (one) => {
    const { name, prompts, files } = one;
    const graders = gradersOf(one, beside, file);
    const content = typeof files === "string" ? hashFiles(resolve(beside, files)) : files;
    const user = one.user === undefined ? undefined : await readUser(resolve(beside, one.user)).catch(asUsage);
    const hash = hashOf(JSON.stringify([rules, prompts, content, user?.text]), 16);
    if (!was || was.fixtures.some((then) => then.name === name && then.hash === hash)) {
      return { ...one, hash, kept: join(folder, ".cases", name), graders, user };
    }
    throw new UsageError(`Cannot continue ${was.id} as ${name} has changed since: start a new eval`);
  }));
  return await Promise.all(all.map(async ({ name, prompts, files, grade, user, hash, kept, graders }) => {
    removeTree(kept);
    mkdirSync(join(kept, "files"), { recursive: true });
    if (typeof files !== "string") await applyChanges(join(kept, "files"), files);
    else cpSync(resolve(beside, files), join(kept, "files"), { recursive: true, verbatimSymlinks: true });
    if (user) writeFileSync(join(kept, USER_FILE), user.text);
    const words = command && { command: commandWords(command, prompts[0] ?? "", isFile)!, input: true };
    if (grade !== undefined) writeFileSync(join(kept, "grade.sh"), `${grade}\n`);
    const tape = { tape: TAPE_VERSION, source: "case", at: new Date(0).toISOString(), seed: "", versions: {} };
    const header = { ...tape, tools: false, ...(words || ruled) };
    await writeTape(fixtureAt(kept).tape, { header, prompts, calls: [], tools: [], clocks: [], end: { end: "done" } });
    return {
      ...await planned({ ...fixtureAt(kept), name, folder: graders ?? kept }, cwd),
      ...(file === undefined && { graders: { "grade()": "" } }),
      ...{ hash, price: { calls: 0, tokens: 0, dollars: dollarsOf(user) } },
      case: { kept: relative(cwd, kept), agent: from === BUILT_IN ? from : relative(cwd, from ?? beside) },
    };
  }));
}

/** The folder of a case's graders, if they are not a line. */
function gradersOf({ name, grade, files }: Case, beside: string, file: string | undefined): string | undefined {
  const of = file === undefined ? "" : ` of ${file}`;
  const refuse = (why: string, fix: string) => new UsageError(`Cannot evaluate '${name}'${of} as ${why}: ${fix}`);
  if (typeof files === "string" && !statSync(resolve(beside, files), { throwIfNoEntry: false })?.isDirectory()) {
    throw refuse(`its files, ${files}, are not a folder`, "name one, or write 'path: text'");
  }
  if (file === undefined && grade === undefined) return undefined;
  if (file === undefined) throw refuse("it has a 'grade' of its own", "grade it in the function");
  const own = join(beside, "cases", name);
  const has = existsSync(own) && graderFiles({ folder: own }).some((path) => dirname(path) === own);
  if (!has && grade === undefined) {
    throw refuse("nothing says when it passes", `add 'grade: <shell line>', or put graders into cases/${name}`);
  }
  if (has && grade !== undefined) throw refuse(`cases/${name} has graders too`, "keep one of them");
  if (has && typeof files === "string" && resolve(beside, files) === own) {
    throw refuse(`its agent would see its graders in ${files}`, "put its files into another folder");
  }
  return has ? own : undefined;
}

export async function readCases(path: string, file: string): Promise<CaseFile> {
  if (!existsSync(path)) throw new UsageError(`Cannot find '${file}': name a file of cases`);
  const { value, mistake } = await readYaml(readFileSync(path, "utf8"), file).catch(asUsage);
  return casesIn(value, (at, why) => new UsageError(mistake(at, why).message));
}

/** Checks the cases of a file or a test; `refuse` makes an error of the place of a mistake and why it is one. */
export function casesIn(value: unknown, refuse: (at: readonly (string | number)[], why: string) => Error): CaseFile {
  const check = (given: unknown, kinds: Parameters<typeof optionFault>[1], ...at: (string | number)[]) => {
    if (!isObject(given)) throw refuse(at, `these are not lines 'key: value': ${Object.keys(kinds).join(", ")}`);
    const fault = optionFault(given, kinds);
    if (fault) throw refuse([...at, fault.option], fault.why);
  };
  check(value, FILE);
  const { permissions, cases = [], ...rest } = value as Omit<CaseFile, "cases"> & { cases?: readonly unknown[] };
  const { command } = rest;
  const other = rest.agent !== undefined ? "agent" : permissions && "permissions";
  if (command !== undefined && other) {
    throw refuse([other], "it has a 'command', which is a program of its own: keep one");
  }
  if (command?.length === 0) throw refuse(["command"], "it names no program");
  if (command !== undefined && !commandWords(command, "", () => false)) {
    const why = `a shell does not read its '${PROMPT}' as text`;
    throw refuse(
      ["command"],
      `${why}: write it as a word, or in quotes, not in \`…\`, \${…}, a comment or a here-document`,
    );
  }
  const hasPrompt = [command ?? []].flat().some((word) => word.includes(PROMPT));
  if (permissions) check(permissions, RULES, "permissions");
  if (cases.length === 0) throw refuse(["cases"], "it has no cases: write 'cases:' and a list of them");
  const names = new Set<string>();
  const readCase = (given: unknown, i: number): Case => {
    check(given, CASE, "cases", i);
    const { name = "", prompt, prompts = [], files = {}, ...more } = given as Partial<Case> & { prompt?: string };
    const wrong = (why: string) => refuse(["cases", i], why);
    if (!/^\w[\w.-]{0,99}$/.test(name)) throw wrong("its 'name' must be letters, digits, '.', '_' and '-'");
    if (names.has(name)) throw wrong(`there are two cases '${name}': each needs a name of its own`);
    names.add(name);
    const speakers = [prompt, prompts[0], more.user].filter((one) => one !== undefined);
    if (command !== undefined) {
      if (prompts.length > 0 || more.user !== undefined) throw wrong("a command takes one text: write it as 'prompt'");
      if (prompt !== undefined && !hasPrompt) {
        throw wrong(`its 'prompt' goes nowhere: write '${PROMPT}' into the command`);
      }
      if (prompt === undefined && hasPrompt) throw wrong("it needs a 'prompt', as the command has one");
    } else if (speakers.length !== 1) throw wrong("it needs one of 'prompt', 'prompts' and 'user'");
    const isOut = (path: string) => !isInside(resolve("/files", path), "/files");
    if (typeof files !== "string" && (optionFault({ files }, TEXT_FILES) || Object.keys(files).some(isOut))) {
      throw wrong("its 'files' are neither a folder nor texts by paths in one");
    }
    return { name, prompts: prompt === undefined ? prompts : [prompt], files, ...more };
  };
  return { ...rest, ...(permissions && { permissions }), cases: cases.map(readCase) };
}
