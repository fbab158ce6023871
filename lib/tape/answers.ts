import type { Json } from "../core/messages.ts";
import type { Asker } from "../tools/asker.ts";
import { canonical } from "./canonical.ts";
import type { TapeSession } from "./session.ts";

/**
 * Whoever is asked by the tools of a run that is on a tape: a person, whose answers are noted, or what the person said
 * to the same question when it was recorded. Undefined where there is neither.
 */
export function tapedAsker(session: TapeSession, person: Asker | undefined): Asker | undefined {
  const { program, recording, mask } = session;
  const known = new Map<string, Json[]>();
  for (const { asked, answer } of program?.tape.answers ?? []) {
    known.set(canonical(asked), [...known.get(canonical(asked)) ?? [], answer]);
  }
  if (known.size === 0 && (session.isOffline || !person)) return person;
  const said = async <T>(asked: object, ask: () => Promise<T | undefined> | undefined): Promise<T | undefined> => {
    const recorded = known.get(canonical(mask.on(asked)))?.shift();
    const answer = recorded === undefined ? await ask() : mask.off(recorded) as T;
    if (answer !== undefined) recording.answers.push({ asked: asked as Json, answer: answer as Json });
    return answer;
  };
  return {
    answer: (questions, signal) => said(questions, () => person?.answer(questions, signal)),
    approve: (request, signal) => said(request, () => person?.approve(request, signal)),
  };
}
