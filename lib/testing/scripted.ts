import { setTimeout as sleep } from "node:timers/promises";
import { errorType } from "../http/api-errors.ts";
import { type Model, ModelError, type ModelRequest } from "../core/model.ts";
import { checkOptions } from "../files/options.ts";
import { readScript, SCRIPT_OPTIONS, type ScriptEntry, type ScriptOptions, sentEvents } from "./_script.ts";

/** A model that says what its script says. */
export interface ScriptedModel extends Model {
  /** What it was asked, as it was at that moment. */
  readonly requests: readonly ModelRequest[];
  /** @throws {Error} if replies were not used, naming them */
  done(): void;
}

/**
 * Makes a model of replies, for tests: it streams them one request after another, as the API would.
 *
 * @example
 * ```ts
 * import { agent } from "crochet";
 * import { Bash } from "crochet/tools";
 * import { scripted } from "crochet/testing";
 *
 * const model = scripted([{ tools: [{ name: "Bash", input: { command: "ls" } }] }, { text: "two files" }]);
 * const result = await agent({ model, tools: [Bash] }).run("what is here?");
 * console.log(result.text, model.requests.length); // "two files" 2
 * model.done(); // every reply was used
 * ```
 */
export function scripted(replies: readonly ScriptEntry[], options: ScriptOptions = {}): ScriptedModel {
  checkOptions(options, SCRIPT_OPTIONS, "script a model");
  const script = readScript(replies, options);
  const requests: ModelRequest[] = [];
  const model: Model = async function* scripted(request, signal) {
    const asked = { ...request, messages: [...request.messages], tools: [...request.tools] };
    requests.push(asked);
    const answer = await script.next(asked);
    const { delay, http, retryAfter, stall } = answer.reply;
    if (delay !== undefined) await sleep(delay, undefined, { signal }).catch(() => {});
    if (http !== undefined) throw httpError(http, retryAfter);
    for (const event of sentEvents(answer)) {
      if (signal.aborted) throw aborted(signal);
      yield event;
    }
    if (stall) await untilAborted(signal);
    if (signal.aborted) throw aborted(signal);
  };
  return Object.assign(model, { requests, done: script.done, isFree: true });
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function aborted(signal: AbortSignal): ModelError {
  return new ModelError("Cannot finish the model call as it was aborted", { code: "aborted", cause: signal.reason });
}

function httpError(status: number, retryAfter: number | undefined): ModelError {
  return new ModelError(`Cannot call the model as the script answers with HTTP ${status}`, {
    code: errorType(status),
    ...(retryAfter !== undefined && { retryAfter: retryAfter * 1000 }),
  });
}
