/** A question with a few answers to choose from; a person may always answer in words of their own. */
export interface Question {
  readonly question: string;
  readonly header: string;
  readonly options: readonly { readonly label: string; readonly description: string }[];
  /** Whether several options may be chosen. @default false */
  readonly multiSelect?: boolean;
}

/** Answers by the text of their question. Several chosen options are joined by ", ". */
export type Answers = Readonly<Record<string, string>>;

/** What a person is asked to agree to: to plan first, or to a plan. */
export type PlanRequest =
  | { readonly tool: "EnterPlanMode" }
  | { readonly tool: "ExitPlanMode"; readonly plan: string };

export interface PlanReply {
  readonly approved: boolean;
  /** What the person wants otherwise. */
  readonly feedback?: string;
}

/** Puts questions to a person, one thing at a time. Undefined means that no person answered. */
export interface QuestionAsker {
  answer(questions: readonly Question[], signal: AbortSignal): Promise<Answers | undefined>;
  approve(request: PlanRequest, signal: AbortSignal): Promise<PlanReply | undefined>;
}

/** @throws {TypeError} if it could not be asked: better now than at the first question */
export function checkQuestionAsker(asker: QuestionAsker, doing: string): void {
  const lacks = (["answer", "approve"] as const).find((method) => typeof asker[method] !== "function");
  if (lacks) {
    throw new TypeError(`Cannot ${doing} as the questionAsker has no function '${lacks}': give it { answer, approve }`);
  }
}

/** What is being asked now, per asker: a person can look at one question only. */
const asking = new WeakMap<QuestionAsker, Promise<unknown>>();

export async function oneAtATime<T>(asker: QuestionAsker, ask: () => Promise<T>): Promise<T> {
  const turn = (asking.get(asker) ?? Promise.resolve()).then(ask);
  asking.set(asker, turn.catch(() => {}));
  return await turn;
}

/**
 * An asker with its answers ready, for tests: by the text of a question or its header; `plan` agrees to plans (true),
 * refuses them (false) or refuses them with these words. A question without an answer is an error.
 *
 * @example
 * ```ts
 * import { agent } from "crochet";
 * import { AskUserQuestion, askWith } from "crochet/tools";
 *
 * const questionAsker = askWith({ "Which database?": "Postgres" }, { plan: "Test it first" });
 * const helper = agent({ from: import.meta.url, tools: [AskUserQuestion] });
 * export const ask = (prompt: string) => helper.run(prompt, { questionAsker });
 * ```
 */
export function askWith(
  answers: Readonly<Record<string, string | readonly string[]>>,
  { plan = true }: { readonly plan?: boolean | string } = {},
): QuestionAsker {
  return {
    answer: (questions) =>
      Promise.resolve(Object.fromEntries(questions.map(({ question, header }) => {
        const answer = answers[question] ?? answers[header];
        if (answer === undefined) {
          const scripted = Object.keys(answers).map((one) => `'${one}'`).join(", ") || "none";
          throw new TypeError(`Cannot answer '${question}' as no answer is scripted: there is one for ${scripted}`);
        }
        return [question, typeof answer === "string" ? answer : answer.join(", ")];
      }))),
    approve: () => Promise.resolve(typeof plan === "string" ? { approved: false, feedback: plan } : { approved: plan }),
  };
}
