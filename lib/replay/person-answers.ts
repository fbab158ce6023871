import type { Json } from "../core/messages.ts";
import type { PermissionAsker } from "../permissions/gate.ts";
import type { QuestionAsker } from "../tools/question-asker.ts";
import type { AnswerFact, EntryOf, LogEntry } from "../log/entry.ts";
import type { Lane } from "../log/lane.ts";
import { canonical } from "../log/canonical.ts";
import type { Mask } from "../log/redact/mask.ts";

/** What a session is recorded in: a log, or a tape. */
export interface SessionRecord {
  readonly mainLane: Lane;
  readonly answers: Answers;
  /** What the first line of a tape says of the run. */
  readonly known: EntryOf<"also">["also"];
  /** Whether rules or a person that are not the agent's own may refuse its calls. */
  isRuled: boolean;
  /** The model that a person changed to since the last prompt. */
  switched: string | undefined;
  line(entry: LogEntry): void;
  also(known: SessionRecord["known"]): void;
  /** Notes what a file of the workspace said when the agent itself first read it. */
  hasRead(path: string, text: string): void;
}

/** What is known of a person's answers, and where new ones are noted. */
export interface Answers {
  readonly known: readonly AnswerFact[];
  readonly isOffline: boolean;
  /** Whether a known answer counts for a call, or for the question of a tool. @default always */
  counts?(call?: { readonly tool_use_id: string; readonly agent_id?: string }): boolean;
  note(fact: AnswerFact): void;
  readonly mask: Pick<Mask, "on" | "off">;
}

/**
 * Answers the questions of tools in a run on a tape: a person, whose answers are recorded, or what the person answered
 * to the same question when it was recorded. Undefined if there is neither.
 */
export function tapedQuestionAsker(answers: Answers, person: QuestionAsker | undefined): QuestionAsker | undefined {
  const { isEmpty, answer } = answersOn(answers, (asked) => !isPermission(asked));
  if (isEmpty && (answers.isOffline || !person)) return person;
  return {
    answer: (questions, signal) => answer(questions, answers.counts?.(), () => person?.answer(questions, signal)),
    approve: (request, signal) => answer(request, answers.counts?.(), () => person?.approve(request, signal)),
  };
}

/** As `tapedQuestionAsker`, whether a call may run. A replay asks no person. */
export function tapedPermissionAsker(
  answers: Answers,
  person: PermissionAsker | undefined,
): PermissionAsker | undefined {
  const { isEmpty, answer } = answersOn(answers, isPermission);
  const present = answers.isOffline ? undefined : person;
  if (isEmpty && !present) return undefined;
  return async (question, signal) => {
    const asked = { permission: question.tool_name, input: question.input };
    return await answer(asked, answers.counts?.(question), () => present?.(question, signal)) ??
      { behavior: "deny", reason: "a replay asks no person" };
  };
}

function isPermission(asked: Json): boolean {
  return typeof asked === "object" && asked !== null && "permission" in asked;
}

/** The answers of a tape by what was asked, in order. Any other question goes to the person, and the answer is recorded. */
function answersOn({ known: facts, note, mask }: Answers, which: (asked: Json) => boolean) {
  const known = new Map<string, Json[]>();
  for (const { asked, answer } of facts) {
    if (which(asked)) known.set(canonical(asked), [...known.get(canonical(asked)) ?? [], answer]);
  }
  return {
    isEmpty: known.size === 0,
    async answer<T>(
      asked: object,
      counts: boolean | undefined,
      ask: () => Promise<T | undefined> | undefined,
    ): Promise<T | undefined> {
      const recorded = counts === false ? undefined : known.get(canonical(mask.on(asked)))?.shift();
      const answer = recorded === undefined ? await ask() : mask.off(recorded) as T;
      if (answer !== undefined) note({ asked: asked as Json, answer: answer as Json });
      return answer;
    },
  };
}
