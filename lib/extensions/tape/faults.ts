import type { ServerResponse } from "node:http";
import { NO_USAGE } from "../../core/messages.ts";
import type { Result } from "../../core/run-events.ts";
import type { FreeRun } from "../../replay/free-run.ts";
import type { Invariant } from "../../replay/invariants.ts";
import type { Replayable } from "../../replay/run-on-tape.ts";
import type { Attempt, Tape } from "../../log/tape.ts";
import { asksModel } from "../../replay/requests/api.ts";
import { endedEarly, type ProgramEnd, type ProgramOptions, runCommand } from "./start-command.ts";
import { type Incoming, listen, refusingProxy, sendError } from "../../replay/requests/listen.ts";
import { sentMasks } from "./mask.ts";
import { McpReplayer } from "./mcp-answers.ts";
import { sentKey } from "../../replay/requests/match-request.ts";
import { type Env, placesOf, pointedAt } from "./pointing.ts";
import { ComparedProgram, installFolder } from "../../replay/requests/compared-program.ts";
import { readable } from "../../replay/requests/readable.ts";
import { secretsOf, serveAttempt } from "./answer-requests.ts";
import { hasFailed } from "./tape-of-run.ts";

/** How a command ended, and what it was served last: invariants look it up by the run. */
const ends = new WeakMap<object, { readonly end: ProgramEnd; readonly last: Attempt | undefined }>();

/** What must hold for every command, besides what holds for every run. */
export const COMMAND_INVARIANTS: readonly Invariant[] = [
  {
    name: "the command is ended by no signal",
    broken: ({ run }) => {
      const { end } = ends.get(run)?.end ?? {};
      return end?.startsWith("SIG") ? `it was ended by ${end}` : undefined;
    },
  },
  {
    name: "the command reports a failure if its last request failed",
    broken: ({ run }) => {
      const { end, last } = ends.get(run) ?? {};
      return last && hasFailed(last) && end!.end === "exit 0"
        ? "it ended with exit 0, though nothing answered"
        : undefined;
    },
  },
];

/**
 * A command in place of an agent: a run of it on a tape on which faults fall. Its output is the text of the result.
 *
 * @param copyOf the directory that it works in copies of
 */
export function commandAgent(
  words: (cwd: string) => readonly string[],
  env: Env,
  copyOf?: string,
): Pick<Replayable, "open"> {
  return {
    open: ({ cwd, tape: { tape, faults }, signal }) =>
      Promise.resolve({
        prompt: () => runUnder(faults!, tape!, words(cwd), env, { cwd, copyOf, signal }),
        close: () => Promise.resolve(),
      }),
  };
}

async function runUnder(
  run: FreeRun,
  tape: Tape,
  command: readonly string[],
  env: Env,
  { cwd, copyOf, signal }: Pick<ProgramOptions, "cwd" | "signal"> & { readonly copyOf: string | undefined },
): Promise<Result> {
  const program = new ComparedProgram(installFolder(command, env));
  const places = placesOf(cwd, env);
  const masks = sentMasks(places, program, secretsOf(tape, places, env));
  /** What is still to be served for the last request of a lane: a client asks again by itself after a failure. */
  const left = new Map<string, { readonly key: string; readonly attempts: Attempt[] }>();
  let last: Attempt | undefined;
  const mcp = new McpReplayer(tape.mcp ?? [], { name: "", mask: masks, named: (value) => value, note: () => {} });
  const answer = async (incoming: Incoming, response: ServerResponse) => {
    if (incoming.prefix === "mcp") return await mcp.answer(incoming, response);
    const { sent, headers } = incoming;
    if (!asksModel(sent)) return sendError(response, sent.api, 404, "Not recorded");
    mcp.requests++;
    const lane = program.learn(headers, sent);
    const mask = masks();
    const asked = mask.sentOn(sent);
    const key = sentKey(asked);
    let pending = left.get(lane);
    if (pending?.key !== key || pending.attempts.length === 0) {
      const request = readable(asked);
      const shown = sent.api === "anthropic" ? request : { ...request, messages: [] };
      const { attempts, id } = run.take(lane, shown, request, asked);
      // The tape is over: only the Messages API has words for it.
      if (id.endsWith("#farewell") && sent.api !== "anthropic") {
        return sendError(response, sent.api, 400, "The tape is over");
      }
      left.set(lane, pending = { key, attempts: [...attempts] });
    }
    last = pending.attempts.shift()!;
    await serveAttempt(mask.attemptOff(last), sent, response, true);
  };
  const server = await listen(answer);
  const proxy = await refusingProxy(server.url, () => {});
  try {
    const shown = tape.header.env ?? {};
    const isServed = { cwd, copyOf, mcp: tape.mcp !== undefined };
    using pointed = await pointedAt(server.url, command, { env, shown, proxy: proxy.url, ...isServed });
    const end = await runCommand(pointed.command, { cwd, env: pointed.env, signal, quiet: true });
    ends.set(run, { end, last });
    if (run.taken.length === 0 && !signal?.aborted) throw new Error(`Cannot go on as ${endedEarly(end, cwd)}`);
    const stop = end.end === "exit 0" ? "done" : end.end === "aborted" ? "aborted" : "error";
    return {
      ...{ stop, text: end.stdout, messages: [], usage: NO_USAGE },
      ...(stop === "error" && { error: { code: end.end, message: end.stderr } }),
    } as unknown as Result;
  } finally {
    await proxy.close();
    await server.close();
  }
}
