import { existsSync, mkdirSync, statSync } from "node:fs";
import { basename, relative, resolve } from "node:path";
import { budgetFlag, type Flags } from "../../cli/kit/flags.ts";
import { type Io, UsageError } from "../../cli/kit/io.ts";
import { NO_USAGE } from "../../core/messages.ts";
import { TAPE_VERSION } from "../../log/entry.ts";
import type { Observed } from "../../replay/invariants.ts";
import { fixtureAt } from "../../replay/fixture.ts";
import { ofTool, type ReplayedCall } from "../../replay/seen.ts";
import { codexTools } from "../check/backtest.ts";
import { findSessions } from "../import/sessions/find-session.ts";
import { type HostSession, readSession } from "../import/sessions/read-session.ts";
import { gradesOf } from "./attempt.ts";
import type { EvalSource } from "./command.ts";
import { FREE, graderFiles, graderHashes, gradeRun } from "./grade.ts";
import { runFolder } from "./kept-evals.ts";
import { budgetOf, shareOf } from "./make-plan.ts";
import { type EvalPlan, slotName } from "./plan.ts";
import { whyNot } from "./runs.ts";

/** Sessions that already happened, as the runs of an eval. */
export function sessionsIn({ words, flags }: Flags, io: Io): EvalSource {
  const refuse = (why: string, fix: string) => new UsageError(`Cannot grade sessions of hosts as ${why}: ${fix}`);
  const folderOf = (flag: "sessions" | "graders"): string => {
    const path = resolve(io.cwd, String(flags[flag] ?? ""));
    if (flags[flag] === undefined) throw refuse(`no ${flag} are named`, `add --${flag} <dir>`);
    if (!existsSync(path)) throw refuse(`there is no ${path}`, "name a folder");
    if (flag === "graders" && !statSync(path).isDirectory()) throw refuse(`${path} is a file`, "name its folder");
    return path;
  };
  const [logs, graders] = [folderOf("sessions"), folderOf("graders")];
  if (words.length > 0) throw refuse(`'${words[0]}' is not a flag`, "leave it out");
  const fixture = fixtureAt(graders);
  const files = graderFiles(fixture).map((path) => basename(path));
  const onFiles = files.find((name) => name.startsWith("grade.") && !name.endsWith(".prompt.md"));
  if (files.length === 0) {
    throw refuse(`nothing in ${graders} grades`, "put invariants.ts or grade.<label>.prompt.md there");
  }
  if (onFiles !== undefined) {
    throw refuse(`${onFiles} asks for files, which a log does not have`, "leave it out of --graders");
  }
  const { sessions, others, problems } = findSessions([logs]);
  const left = [...others, ...problems.map(({ path }) => path)].map((path) => relative(io.cwd, path));
  if (left.length > 0) io.err(`left out, as no log of Claude Code or Codex: ${left.join(", ")}\n`);
  if (sessions.length === 0) throw refuse(`${logs} has no log of one`, "name a folder of Claude Code or Codex");
  const asks = files.some((name) => name.endsWith(".md"));
  const [budget, atLeast] = [asks ? budgetOf(flags, io) : budgetFlag(flags), flags.atLeast];
  const sum = { id: "", at: new Date().toISOString(), runs: sessions.length, sessions: String(flags.sessions) };
  const graded = { folder: relative(io.cwd, graders), graders: graderHashes(fixture) };
  const plan: EvalPlan = {
    ...{ eval: 1, ...sum, whole: true, variants: [{ name: "logged", kind: "here" }] },
    ...(atLeast !== undefined && { atLeast: shareOf("at-least", atLeast) }),
    ...(budget && { budget }),
    fixtures: [{ name: "sessions", hash: "", price: FREE, ...graded, case: { kept: "", agent: "" } }],
  };
  return {
    plan: (id) => Promise.resolve({ ...plan, id }),
    run: async (slot, { folder, signal }, _, rehearsal) => {
      const began = performance.now();
      const { path, problems, ...session } = readSession(sessions[slot.round - 1]!);
      for (const { line, why } of problems) io.err(`${relative(io.cwd, path)}:${line} was not read: ${why}\n`);
      const observed = observedIn(session);
      const own = runFolder(folder, slotName(slot));
      mkdirSync(own, { recursive: true });
      const graded = await gradeRun(fixture, { observed, root: "", folder: own, signal }, undefined, {
        rehearsal: rehearsal !== undefined,
        refuses: (about) => whyNot(rehearsal?.left, about),
      });
      const asking = graded.grades.find(({ seen }) => seen?.includes(NONE));
      const line = gradesOf({ ...graded, ...(asking && { broken: `${asking.name} ${asking.seen}` }) });
      const ms = Math.round(performance.now() - began);
      return { run: slotName(slot), log: relative(io.cwd, path), ...line, ...FREE, dollars: 0, ms };
    },
  };
}

const NONE = "which a log does not have";
const OUTCOMES = { ok: "success", error: "failure", denied: "denied", interrupted: "interrupted" } as const;

/** A session as graders see a run: what its log does not have cannot be asked for. */
function observedIn({ host, moments }: Pick<HostSession, "host" | "moments">): Observed {
  const calls = moments.flatMap((moment): ReplayedCall[] => {
    if (moment.kind !== "call") return [];
    const { id, name, input, outcome, result: content } = moment;
    const tools = host === "codex"
      ? codexTools(moment).map((one) => ({ name: one.tool_name, input: one.tool_input }))
      : [{ name, input }];
    return tools.map((tool) => ({ id, ...tool, outcome: OUTCOMES[outcome], content }));
  });
  const main = moments.filter(({ lane }) => lane === "main");
  const prompts = main.flatMap((moment) => moment.kind === "prompt" ? [moment.text] : []);
  const text = main.findLast((moment) => moment.kind === "stop")?.text ?? "";
  const lacking = (...names: string[]) =>
    Object.fromEntries(names.map((name) => [name, {
      get: () => {
        throw new Error(`it asks for ${name}, ${NONE}`);
      },
    }]));
  const header = { tape: TAPE_VERSION, source: `session of ${host}`, at: "", seed: "", versions: {}, tools: false };
  const tape = Object.defineProperties({ header, prompts }, lacking("calls", "tools", "clocks"));
  const counts = { turns: prompts.length, iterations: 0, modelCalls: 0, usage: NO_USAGE, cost: undefined };
  const result = { id: "", text, stop: "done", messages: [], ...counts, denials: [] };
  const seen = { tape, results: [result], calls: ofTool(calls) };
  return Object.defineProperties(seen, lacking("files", "events", "hooks", "run")) as unknown as Observed;
}
