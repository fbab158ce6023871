import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "../runtime/sha256.ts";
import { writeWhole } from "../files/drafts.ts";
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
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const [asked, answered] = [join(folder, `${token}.json`), join(folder, `${token}.answer.json`)];
  if (!existsSync(answered)) {
    writeWhole(asked, JSON.stringify({ token, about, at: Date.now() }));
    announce(token);
  }
  while (!existsSync(answered)) {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return JSON.parse(readFileSync(answered, "utf8")) as T;
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
  if (!existsSync(folder)) return [];
  // A run that ends meanwhile takes its questions away.
  const orNone = <V>(read: () => V[]): V[] => {
    try {
      return read();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  };
  const found = readdirSync(folder).filter((name) => name.endsWith(ANSWERS)).flatMap((name) =>
    orNone(() => readdirSync(join(folder, name))).filter((file) => /^\w+\.json$/.test(file)).flatMap((file) => {
      const path = join(folder, name, file);
      return orNone(() => [{ ...JSON.parse(readFileSync(path, "utf8")) as OpenQuestion<T>, path }]);
    })
  );
  return found.filter(({ path }) => !existsSync(answerOf(path))).sort((a, b) => a.at - b.at);
}

/** Answers a question; false if it was answered before. */
export function answerQuestion({ path }: { readonly path: string }, answer: unknown): boolean {
  try {
    writeWhole(answerOf(path), JSON.stringify(answer), { replace: false });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function answerOf(path: string): string {
  return path.replace(/\.json$/, ".answer.json");
}
