import { dirname, join } from "node:path";
import { parsed } from "../core/json.ts";
import { hashOf, sha256 } from "../runtime/sha256.ts";
import { hasState, namesIn, readStateFile, removeState, replaceState, writeStateFile } from "../files/state.ts";
import { ANSWERS, answersOf, userKey } from "./own.ts";

/** A question that waits for a person, in whatever process the answer is given. */
interface OpenQuestion<T = unknown> {
  readonly token: string;
  readonly about: T;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** How often a waiting run looks for an answer, which another process writes. */
const LOOK_MS = 200;

/**
 * Asks a question beside a log, and waits for its answer for as long as it takes. The answer stays there until the run
 * ends. One that somebody else gave, as a checkout may bring it along, is left aside and named, and the question is asked.
 */
export async function waitForAnswer<T>(
  log: string,
  name: string,
  about: unknown,
  signal: AbortSignal,
  { announce, warn }: { readonly announce: (token: string) => void; readonly warn: (words: string) => void },
): Promise<T> {
  const token = hashOf(name, 16);
  const asked = join(answersOf(log), `${token}.json`);
  const key = userKey();
  for (let isAsked = false;;) {
    const text = readStateFile(answerOf(asked));
    if (text !== undefined) {
      const { answer, seal } = (parsed(text) ?? {}) as { readonly answer?: unknown; readonly seal?: unknown };
      if (key ? seal === sealOf(key, token, about, answer) : isAsked) return answer as T;
      const aside = `${answerOf(asked)}.left`;
      replaceState(answerOf(asked), aside);
      warn(`An answer was there that you did not give: it does not count, and is left in ${aside}`);
      isAsked = false;
    }
    if (!isAsked) {
      writeStateFile(asked, JSON.stringify({ token, about, at: Date.now() }));
      announce(token);
      isAsked = true;
    }
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

/** What says that an answer to this very question was given by the user. */
function sealOf(key: Uint8Array, token: string, about: unknown, answer: unknown): string {
  return sha256(key).update(JSON.stringify(["answer", token, about, answer])).digest("hex");
}

/**
 * The open questions of the logs in a folder, oldest first. The run that asks may have died: its answer waits for it.
 *
 * @example
 * ```ts
 * import { answerQuestion, openQuestions } from "crochet/durable";
 *
 * for (const question of openQuestions(".crochet/runs")) {
 *   console.log(question.about);
 *   answerQuestion(question, { behavior: "deny", reason: "not on a Friday" });
 * }
 * ```
 */
export function openQuestions<T>(folder: string): (OpenQuestion<T> & { readonly path: string })[] {
  const found = namesIn(folder).filter((name) => name.endsWith(ANSWERS)).flatMap((name) =>
    namesIn(join(folder, name)).filter((file) => /^\w+\.json$/.test(file)).flatMap((file) => {
      const path = join(folder, name, file);
      const text = unanswered(path);
      return text === undefined ? [] : [{ ...JSON.parse(text) as OpenQuestion<T>, path }];
    })
  );
  return found.sort((a, b) => a.at - b.at);
}

/** Answers a question; false if it was answered before, or is over. */
export function answerQuestion({ path }: { readonly path: string }, answer: unknown): boolean {
  const question = unanswered(path);
  if (question === undefined) return false;
  const { token, about } = JSON.parse(question) as OpenQuestion;
  const key = userKey();
  const seal = key && { seal: sealOf(key, token, about, answer) };
  try {
    writeStateFile(answerOf(path), JSON.stringify({ answer, ...seal }), { replace: false });
    if (hasState(path) || !hasState(answerOf(path))) return true; // a run that ends takes both away
    removeState(dirname(path)); // of a run that had ended before
    return false;
  } catch (error) {
    if (hasState(answerOf(path)) || !hasState(path)) return false;
    throw error;
  }
}

/** What a question says if no answer is there, for which one looks first: a run that ends takes both away at once. */
function unanswered(path: string): string | undefined {
  return hasState(answerOf(path)) ? undefined : readStateFile(path);
}

function answerOf(path: string): string {
  return path.replace(/\.json$/, ".answer.json");
}
