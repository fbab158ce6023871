import { existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { isObject } from "../../core/json.ts";
import { mask } from "../../log/redact/mask.ts";
import { placer, placesHere } from "../../log/redact/places.ts";
import { readTape } from "../read-tape.ts";
import { MAIN, type Tape } from "../../log/tape.ts";
import { answerLines, headOf, Heads } from "../../log/call-lines.ts";
import { kindOf, type LogEntry, type ToolFact } from "../../log/entry.ts";
import { readOwn } from "../../log/own.ts";
import { Log, LOG_VERSION } from "../../log/read-log.ts";
import { tapeFile } from "../fixture.ts";

interface ForkOptions {
  readonly folder: string;
  /** What a path is relative to. */
  readonly resolve: (path: string) => string;
  readonly cwd: string;
  readonly id: string;
  /** Whether a log that was not written here is taken too. */
  readonly trust: boolean | undefined;
}

/**
 * The log of a run up to one of its model calls, under a new id: `last#7` is served up to its sixth call and asks the model
 * from the seventh on. `warnings` name what is not as it was before that call.
 *
 * @throws {TypeError} if there is no such run or call
 */
export async function forked(
  from: string,
  options: ForkOptions,
): Promise<{ readonly log: Log; readonly isOwn: boolean; readonly warnings: readonly string[] }> {
  const { cwd, id } = options;
  const [, named = "", number = ""] = /^(.+)#(\d+)$/.exec(from) ?? [];
  if (named === "") throw new TypeError(`Cannot fork '${from}' as it names no call: write <run>#<call>, as in last#3`);
  const found = await logOf(named, options);
  if (!found) {
    throw new TypeError(
      `Cannot fork '${named}' as there is no such run or fixture: 'crochet runs' lists runs`,
    );
  }
  const { log, isOwn } = found;
  const call = `${MAIN}#${number}`;
  const at = log.entries.findIndex((entry) => "call" in entry && entry.call === call);
  if (at < 0) {
    const calls = log.calls.filter(({ lane }) => lane === MAIN).length;
    throw new TypeError(`Cannot fork '${named}' at call ${number} as it has ${calls}: give one from 1 to ${calls}`);
  }
  const was = log.header.id;
  // Names of steps hold the session's id.
  const text = JSON.stringify(log.entries.slice(1, at));
  const entries = JSON.parse(was.length < LEAST_ID ? text : text.replaceAll(was, id)) as LogEntry[];
  const { agent: _, ...header } = log.header;
  return {
    log: new Log([{ ...header, id, cwd, from: { id: was, call } }, ...entries], log.where),
    isOwn,
    warnings: changedSince(log.entries.slice(at), cwd).map((path) =>
      `${path} is not as it was before call ${number}, as that run changed it later: the fork works on it as it is`
    ),
  };
}

/** The files that these calls edited and that are not as they found them. What a command changed is not known. */
function changedSince(entries: readonly LogEntry[], cwd: string): string[] {
  const found = new Map<string, unknown>();
  for (const entry of entries) {
    const { effect, result } = kindOf(entry) === "tool" ? entry as ToolFact : {};
    const response = effect === "write" ? result?.response : undefined;
    if (!isObject(response) || typeof response.filePath !== "string") continue;
    // What a large file was is not in the log: it counts as another one.
    if (!found.has(response.filePath)) found.set(response.filePath, response.originalFile);
  }
  const now = (path: string) => existsSync(path) ? readFileSync(path, "utf8") : null;
  return [...found].filter(([path, was]) => now(path) !== was).map(([path]) => relative(cwd, path));
}

/** A shorter id may be a word that stands elsewhere. */
const LEAST_ID = 16;

async function logOf(
  named: string,
  { folder, resolve, cwd, trust }: ForkOptions,
): Promise<{ readonly log: Log; readonly isOwn: boolean } | undefined> {
  const own = join(folder, `${named}.jsonl`);
  const path = existsSync(own) ? own : resolve(named);
  const tape = tapeFile(path);
  // Nothing of a tape decides: hooks and the person of today are asked.
  if (existsSync(tape) && tape !== path) {
    return { log: new Log(entriesOf(await readTape(tape), cwd), tape), isOwn: true };
  }
  const found = readOwn(path, "fork", trust);
  return found && { log: new Log(found.entries, path), isOwn: found.seal !== undefined };
}

/** A tape as a log of one run: what hooks said is not on it, so they are asked. */
function entriesOf(tape: Tape, cwd: string): LogEntry[] {
  const { off, attemptOff } = mask(placer(placesHere(cwd)), undefined);
  const { at, seed, versions } = tape.header;
  const entries: LogEntry[] = [{ log: LOG_VERSION, id: seed, cwd, at, seed, versions }];
  const [prompt = ""] = off(tape.prompts);
  const model = tape.calls[0]?.request.model ?? "";
  entries.push({ prompt: prompt as string }, { begin: 0, trigger: "user", model, at: 0 });
  entries.push(...tape.clocks, ...tape.inboxes ?? [], ...off(tape.answers ?? []));
  const heads = new Heads();
  for (const call of tape.calls.toSorted((a, b) => a.at - b.at)) {
    const { id, lane, request, at, error, attempts } = call;
    const { messages, ...asked } = off(request);
    const { head, fresh } = heads.of(headOf(asked), JSON.stringify(asked));
    entries.push(...fresh, { call: id, head, add: messages as never, at });
    entries.push(
      ...answerLines({ id, attempts: attempts.map((one) => attemptOff(one)), ...(error && off({ error })) }),
    );
    const used = new Set(JSON.stringify(attempts).match(/"id":"[^"]+"/g)?.map((id) => id.slice(6, -1)));
    entries.push(...off(tape.tools.filter((fact) => fact.lane === lane && used.has(fact.tool))));
  }
  return entries;
}
