import { isObject } from "../core/json.ts";
import { STANDALONE } from "./standalone.ts";
import { type Tool, type ToolContext, ToolError, type ToolOutput } from "../core/tool.ts";
import { tool } from "./make-tool.ts";
import { PLAN_MODE, QUESTIONS } from "./tool-state.ts";
import {
  type Answers,
  oneAtATime,
  type PlanReply,
  type PlanRequest,
  type Question,
  type QuestionAsker,
} from "./question-asker.ts";

interface AskUserQuestionInput {
  readonly questions: readonly Question[];
  /** Put in by a hook (`updatedInput`) that answers for the person. */
  readonly answers?: Readonly<Record<string, string | readonly string[]>>;
}

/** The structured result hooks read, in the form Claude Code gives it. */
export interface AskUserQuestionResponse {
  readonly questions: readonly Question[];
  readonly answers: Answers;
}

interface ExitPlanModeInput {
  /** What is going to be done, in Markdown. */
  readonly plan: string;
}

/** The structured result hooks read; `approved` is absent if no person decided. */
interface PlanResponse extends Partial<PlanReply> {
  readonly plan?: string;
}

const QUESTION = `Asks the user questions with a few answers to choose from.

- For decisions that only the user can make. One to four questions in a call, two to four options each; \
the user can also answer in their own words, so do not add an option "other". Put the option you recommend first and say so.
- Set multiSelect if several options can be chosen together.
- If no person can answer, your turn ends and the user's next message is the answer.`;

const ENTER = `Asks the user whether to plan first: for work that is large, unclear or hard to undo.

- If the user agrees, explore and think without changing anything, then present the plan with ExitPlanMode.
- If no person can agree, your turn ends and the user's next message is the answer.`;

const EXIT = `Presents your finished plan for the user to approve.

- plan is the whole plan in Markdown: what will change, where, in which order, and how it will be checked.
- Do not use it to ask questions (use AskUserQuestion) or for work that changes nothing.
- If the user refuses, the result says what they want instead. If no person can agree, your turn ends and the user's next message is the answer.`;

/** They change nothing outside the conversation, and a planning agent must be able to call them: no effect. */
const ASKS = { effect: "none" } as const;

const question: Tool<AskUserQuestionInput> = tool<AskUserQuestionInput>({
  ...ASKS,
  name: "AskUserQuestion",
  description: QUESTION,
  input: {
    type: "object",
    properties: {
      questions: {
        type: "array",
        minItems: 1,
        maxItems: 4,
        items: {
          type: "object",
          properties: {
            question: { type: "string", minLength: 1, description: "The whole question" },
            header: { type: "string", description: "One or two words as its title" },
            options: {
              type: "array",
              minItems: 2,
              maxItems: 4,
              items: {
                type: "object",
                properties: {
                  label: { type: "string", minLength: 1, description: "The answer, in a few words" },
                  description: { type: "string", description: "What it means or leads to" },
                },
                required: ["label", "description"],
              },
            },
            multiSelect: { type: "boolean", description: "Whether several options may be chosen; default: false" },
          },
          required: ["question", "header", "options"],
        },
      },
    },
    required: ["questions"],
  },
  run: runQuestion,
  asks: ({ questions }) => ({
    prompt_type: "question",
    message: questions.map(({ question }) => question).join("\n"),
  }),
  render: renderAnswers,
});

/**
 * Puts questions with a few answers to a person: the run's `questionAsker`.
 * Without an asker the turn ends, and the next prompt is the answer.
 *
 * @example
 * ```ts
 * import { agent } from "crochet";
 * import { scripted } from "crochet/testing";
 * import { AskUserQuestion, askWith } from "crochet/tools";
 *
 * const options = [{ label: "Postgres", description: "A server" }, { label: "SQLite", description: "A file" }];
 * const questions = [{ question: "Which database?", header: "Database", options }];
 * const model = scripted([{ tools: [{ name: "AskUserQuestion", input: { questions } }] }, { text: "It is set up" }]);
 * const questionAsker = askWith({ Database: "Postgres" });
 * console.log((await agent({ model, tools: [AskUserQuestion] }).run("Set it up", { questionAsker })).text); // It is set up
 * ```
 */
export const AskUserQuestion: Tool<AskUserQuestionInput> = {
  ...question,
  parse: async (input: unknown) => checkQuestions(await question.parse(input)),
};

/**
 * Asks a person whether to plan first, as `AskUserQuestion` asks; with permissions, only what reads may run
 * until a plan is agreed to.
 */
export const EnterPlanMode: Tool<object> = tool<object>({
  ...ASKS,
  name: "EnterPlanMode",
  description: ENTER,
  input: { type: "object", properties: {} },
  run: (_, context) => runPlan({ tool: "EnterPlanMode" }, context),
  asks: () => ({ prompt_type: "plan_approval", message: "" }),
  render: (response: PlanResponse) => renderPlan("EnterPlanMode", response),
});

/**
 * Gives a person a plan to agree to, as `AskUserQuestion` asks.
 *
 * @example
 * ```ts
 * import { agent } from "crochet";
 * import { scripted } from "crochet/testing";
 * import { askWith, ExitPlanMode } from "crochet/tools";
 *
 * const model = scripted([{ tools: [{ name: "ExitPlanMode", input: { plan: "1. Test it" } }] }, { text: "Tested" }]);
 * const questionAsker = askWith({}, { plan: true });
 * console.log((await agent({ model, tools: [ExitPlanMode] }).run("Plan, then do it", { questionAsker })).text); // Tested
 * ```
 */
export const ExitPlanMode: Tool<ExitPlanModeInput> = tool<ExitPlanModeInput>({
  ...ASKS,
  name: "ExitPlanMode",
  description: EXIT,
  input: {
    type: "object",
    properties: { plan: { type: "string", minLength: 1, description: "The whole plan, in Markdown" } },
    required: ["plan"],
  },
  run: ({ plan }, context) => runPlan({ tool: "ExitPlanMode", plan }, context),
  asks: ({ plan }) => ({ prompt_type: "plan_approval", message: plan }),
  render: (response: PlanResponse) => renderPlan("ExitPlanMode", response),
});

function checkQuestions(input: AskUserQuestionInput): AskUserQuestionInput {
  const texts = input.questions.map(({ question }) => question);
  if (new Set(texts).size < texts.length) {
    throw new ToolError("questions: each must have a text of its own, as answers go by it", { code: "invalid_input" });
  }
  const { answers = {} } = input;
  if (!isObject(answers) || !Object.values(answers).flat().every((answer) => typeof answer === "string")) {
    throw new ToolError("answers: must be texts by the text of their question", { code: "invalid_input" });
  }
  return input;
}

type AskContext = Pick<ToolContext, "state" | "signal" | "toolUse" | "agentId">;

function questionAskerOf({ state }: AskContext): QuestionAsker | undefined {
  return state.get(QUESTIONS) as QuestionAsker | undefined;
}

async function runQuestion(input: AskUserQuestionInput, context: AskContext): Promise<ToolOutput> {
  const { questions } = input;
  // Answers come from a hook; a model that sends its own must not answer for the person.
  const sent = (context.toolUse.input as Partial<AskUserQuestionInput> | undefined)?.answers;
  const fromModel = context.agentId !== STANDALONE && JSON.stringify(sent) === JSON.stringify(input.answers);
  const byHook = fromModel ? {} : input.answers ?? {};
  const given = Object.fromEntries(
    Object.entries(byHook).map(([question, answer]) => [question, [answer].flat().join(", ")]),
  );
  const open = questions.filter(({ question }) => given[question] === undefined);
  const asker = questionAskerOf(context);
  const said = open.length === 0 ? {} : asker && await oneAtATime(asker, () => asker.answer(open, context.signal));
  const response: AskUserQuestionResponse = { questions, answers: { ...given, ...said } };
  return { content: renderAnswers(response), response, ...(!said && { wait: true }) };
}

function renderAnswers({ questions, answers }: AskUserQuestionResponse): string {
  const asked = questions.map(({ question }) => question);
  const answered = asked.filter((question) => answers[question] !== undefined)
    .map((question) => `"${question}"="${answers[question]}"`);
  const open = asked.filter((question) => answers[question] === undefined).map((question) => `"${question}"`);
  return [
    answered.length > 0 && `The user has answered: ${answered.join(", ")}.`,
    open.length > 0 &&
    `Not answered yet: ${open.join(", ")}. The turn ends here; the user's next message is the answer.`,
  ].filter(Boolean).join("\n");
}

async function runPlan(request: PlanRequest, context: AskContext): Promise<ToolOutput> {
  const asker = questionAskerOf(context);
  const reply = asker && await oneAtATime(asker, () => asker.approve(request, context.signal));
  if (reply?.approved) {
    (context.state.get(PLAN_MODE) as ((on: boolean) => void) | undefined)?.(request.tool === "EnterPlanMode");
  }
  const response: PlanResponse = { ...("plan" in request && { plan: request.plan }), ...reply };
  const content = renderPlan(request.tool, response);
  if (reply === undefined) return { content, response, wait: true };
  return { content, response, isError: !reply.approved };
}

function renderPlan(name: PlanRequest["tool"], { approved, feedback }: PlanResponse): string {
  const what = name === "EnterPlanMode" ? "planning first" : "the plan";
  if (approved === undefined) {
    return `The user has not agreed to ${what} yet. The turn ends here; the user's next message is the answer.`;
  }
  const words = feedback ? ` The user says: ${feedback}` : "";
  if (!approved) return `The user does not agree to ${what}.${words}`;
  const next = name === "EnterPlanMode"
    ? "Look around and think, change nothing, then give the plan with ExitPlanMode."
    : "Start with it now.";
  return `The user agrees to ${what}. ${next}${words}`;
}
