import { readFileSync } from "node:fs";
import type { PermissionAsker, PermissionQuestion } from "../../../permissions/gate.ts";
import type { Answers, PlanReply, Question, QuestionAsker } from "../../../tools/question-asker.ts";
import { callSubject, pathFrom } from "../../../cli/show/call-subject.ts";
import { wantedEdits } from "../calls.ts";
import type { Io } from "../../../cli/kit/io.ts";
import { rememberRules } from "../../../cli/kit/stored.ts";
import { chop, openText, plainText, wrap } from "../../../cli/show/text.ts";
import { diffRows, hunksBetween } from "./diff-rows.ts";
import type { Stage } from "./stage.ts";
import { choose, type Option, write } from "./widgets.ts";
import { quietly } from "../../../core/json.ts";

/** How much of what is asked for is shown, in rows. */
const MOST_ROWS = 14;

/** Asks a person whether a call may run: once, always by its rules, or not, with a reason. */
export function permissionAsker(stage: Stage, { cwd, io }: { cwd: string; io: Io }): PermissionAsker {
  return (question, signal) =>
    stage.dialogue(async () => {
      const { colours } = stage;
      const body = await bodyOf(question, cwd, stage);
      const { rules } = question;
      const head = (columns: number) => [
        `${colours.yellow("?")} ${colours.bold(`May ${plainText(question.tool_name)} run?`)}`,
        ...body(columns),
        ...wrap(plainText(question.reason), columns - 4).map((row) => `    ${colours.dim(row)}`),
      ];
      const options: Option[] = [
        { label: "Yes, once", letter: "y" },
        ...(rules.length > 0
          ? [{ label: `Always in this project: ${rules.map(openText).join(", ")}`, letter: "a" }]
          : []),
        { label: "No, and say why", letter: "n" },
      ];
      const [chosen] = await choose(stage, { head, options }, signal) ?? [];
      if (chosen === undefined) return { behavior: "deny" };
      if (chosen === 0) return { behavior: "allow" };
      if (chosen === 1 && rules.length > 0) return always(stage, rules, cwd, io);
      const reason = await said(stage, "Why not? The agent reads it", signal);
      return { behavior: "deny", ...(reason && { reason }) };
    });
}

/** What a person writes under a question; nothing if they only press Enter. */
function said(stage: Stage, question: string, signal: AbortSignal): Promise<string | undefined> {
  const head = () => [stage.colours.dim(`  ${question}; Enter alone says nothing`)];
  return write(stage, head, signal);
}

function always(stage: Stage, rules: readonly string[], cwd: string, io: Io) {
  const shown = rules.map(openText).join(", ");
  try {
    rememberRules(cwd, io.env, rules);
    stage.view.say([stage.colours.dim(`always allowed here: ${shown} (/permissions forgets it)`)]);
  } catch (error) {
    stage.view.warn(`${shown} is allowed for this run only, as it cannot be kept: ${(error as Error).message}`);
  }
  return { behavior: "allow", remember: true } as const;
}

/** What would be done: a change as a diff, a command as it is, anything else by its fields. */
async function bodyOf(question: PermissionQuestion, cwd: string, stage: Stage): Promise<(columns: number) => string[]> {
  const { tool_name, input } = question;
  const change = await changeOf(input);
  const path = typeof input.file_path === "string" ? `    ${openText(pathFrom(cwd, input.file_path))}` : undefined;
  if (change && path !== undefined) {
    return (columns) => [path, ...diffRows(change, { columns, colours: stage.colours, most: MOST_ROWS, whole: true })];
  }
  const text = openText(typeof input.command === "string" ? input.command : callSubject(tool_name, input, cwd));
  return (columns) => {
    const rows = text.split("\n").flatMap((line) => chop(line, Math.max(8, columns - 4))).map((row) => `    ${row}`);
    if (rows.length <= MOST_ROWS) return rows;
    // Both ends: what is dangerous in a long command is not always at its beginning.
    const half = Math.floor(MOST_ROWS / 2);
    const between = stage.colours.yellow(`    … ${rows.length - 2 * half} more rows …`);
    return [...rows.slice(0, half), between, ...rows.slice(-half)];
  };
}

async function changeOf(input: Readonly<Record<string, unknown>>) {
  const edits = wantedEdits(input);
  if (edits === undefined) return undefined;
  const text = quietly(() => readFileSync(String(input.file_path), "utf8")) ?? ""; // it may not be there yet
  const changed = edits.reduce<string | undefined>((now, { before, after }) => {
    if (before === undefined) return after;
    return before === "" || !now?.includes(before)
      ? undefined
      : now[input.replace_all === true ? "replaceAll" : "replace"](before, () => after);
  }, text);
  if (changed !== undefined) return hunksBetween(text, changed);
  // What is to be replaced is not there as it stands: its lines have no number yet.
  return (await Promise.all(edits.map(({ before = text, after }) => hunksBetween(before, after)))).flat();
}

/** Puts the agent's own questions and plans to a person. */
export function questionAsker(stage: Stage): QuestionAsker {
  const { colours } = stage;
  return {
    answer: (questions, signal) =>
      stage.dialogue(async (): Promise<Answers | undefined> => {
        const answers: Record<string, string> = {};
        for (const question of questions) {
          const answer = await answerOne(stage, question, signal);
          if (answer === undefined) return undefined;
          answers[question.question] = answer;
          stage.view.say([`${colours.yellow("?")} ${plainText(question.question)} ${colours.bold(plainText(answer))}`]);
        }
        return answers;
      }),
    approve: (request, signal) =>
      stage.dialogue(async (): Promise<PlanReply | undefined> => {
        if (request.tool === "ExitPlanMode") stage.view.say(planRows(request.plan, stage));
        const [title, yes] = request.tool === "ExitPlanMode"
          ? ["Go ahead with this plan?", "Yes, go ahead"]
          : ["Plan first, and change nothing yet?", "Yes, plan first"];
        const no = { label: "No", note: "and say what to change", letter: "n" };
        const head = () => [`${colours.yellow("?")} ${colours.bold(title)}`];
        const [chosen] = await choose(stage, { head, options: [{ label: yes!, letter: "y" }, no] }, signal) ?? [];
        if (chosen === undefined) return undefined;
        if (chosen === 0) return { approved: true };
        const feedback = await said(stage, "What should be different? The agent reads it", signal);
        return { approved: false, ...(feedback && { feedback }) };
      }),
  };
}

function planRows(plan: string, { columns, colours }: Stage): string[] {
  const rows = plainText(plan).trim().split("\n").flatMap((line) => wrap(line, columns - 4));
  return [colours.bold("The plan"), ...rows.map((row) => `${colours.cyan("│")} ${row}`)];
}

async function answerOne(stage: Stage, question: Question, signal: AbortSignal): Promise<string | undefined> {
  const { colours } = stage;
  const head = (columns: number) =>
    wrap(plainText(question.question), columns - 2).map((row, i) =>
      `${i === 0 ? colours.yellow("?") : " "} ${colours.bold(row)}`
    );
  const other = question.options.length;
  const options = [
    ...question.options.map(({ label, description }) => ({ label: plainText(label), note: plainText(description) })),
    { label: "Something else…" },
  ];
  const many = question.multiSelect ?? false;
  const chosen = await choose(stage, { head, options, many }, signal);
  if (chosen === undefined) return undefined;
  const picked = chosen.filter((i) => i !== other).map((i) => question.options[i]!.label);
  if (!chosen.includes(other)) return picked.join(", ");
  const own = await write(stage, head, signal, true);
  return own === undefined ? undefined : [...picked, own].join(", ");
}
