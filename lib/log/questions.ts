import { join } from "node:path";
import { sha256 } from "../runtime/sha256.ts";
import { hasState, namesIn, readStateFile, writeStateFile } from "../files/state.ts";
import { ANSWERS, answersOf } from "./own.ts";

/** A question that waits for a person, in whatever process the answer is given. */
export interface OpenQuestion<T = unknown> {
  readonly token: string;
  /** What is asked. */
  readonly about: T;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** How often a waiting run looks for an answer, which another process writes. */
const LOOK_MS = 200;

/** Asks a question beside a log, and waits for its answer for as long as it takes. The answer stays there until the run ends. */
export async function waitForAnswer<T>(
  log: string,
  name: string,
  about: unknown,
  signal: AbortSignal,
  announce: (token: string) => void,
): Promise<T> {
  const folder = answersOf(log);
  const token = sha256().update(name).digest("hex").slice(0, 16);
  const [asked, answered] = [join(folder, `${token}.json`), join(folder, `${token}.answer.json`)];
  if (!hasState(answered)) {
    writeStateFile(asked, JSON.stringify({ token, about, at: Date.now() }));
    announce(token);
  }
  while (!hasState(answered)) {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return JSON.parse(readStateFile(answered)!) as T;
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
      // A run that ends meanwhile takes its questions away.
      const text = readStateFile(path);
      return text === undefined ? [] : [{ ...JSON.parse(text) as OpenQuestion<T>, path }];
    })
  );
  return found.filter(({ path }) => !hasState(answerOf(path))).sort((a, b) => a.at - b.at);
}

/** Answers a question; false if it was answered before. */
export function answerQuestion({ path }: { readonly path: string }, answer: unknown): boolean {
  try {
    writeStateFile(answerOf(path), JSON.stringify(answer), false);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function answerOf(path: string): string {
  return path.replace(/\.json$/, ".answer.json");
}
