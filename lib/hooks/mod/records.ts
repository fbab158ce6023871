import type { HookRecord } from "../../core/hook.ts";
import { textOf } from "../../core/messages.ts";
import type { Model, ModelEvent, ModelRequest } from "../../core/model.ts";
import type { ProcessResult } from "../../process/process.ts";
import type { HookFile } from "../discover.ts";
import { parseFileName } from "../file/file-name.ts";
import { type HookConfig, isGuard, moduleRecord, recordBase } from "../file/hook-record.ts";
import { wireInput } from "../process/wire.ts";
import { promptRecord } from "../prompt-hook.ts";
import type { Rule } from "../rule.ts";
import { compileRules } from "../hook-rules.ts";
import { opinionOf } from "../serving/serve-command.ts";
import { compileTemplate } from "../template.ts";
import type { ModEngine } from "./mod-engine.ts";

/** A hook as the mod's code holds it, read when the mod was made: what it has says what it is. */
export interface ModHook {
  readonly name: string;
  readonly module?: { readonly default?: unknown; readonly config?: unknown };
  readonly config?: HookConfig;
  readonly rules?: readonly Rule[];
  readonly template?: string;
  readonly model?: string;
  readonly cache?: boolean | number;
  /** A word that begins with `crochet/` is a file of the mod. */
  readonly argv?: readonly string[];
}

export type Bound = (engine: ModEngine, wire: { readonly [field: string]: unknown }) => HookRecord;

export function boundHook(
  { name, module, config = {}, rules, template, argv = [], ...asked }: ModHook,
): Bound {
  const named = parseFileName(name, { executable: true });
  const file: HookFile = { ...named, name, path: name, at: name, text: "", executable: false };
  const always = (record: HookRecord): Bound => () => record;
  if (module) return always(moduleRecord(file, module, name, (run) => run as HookRecord["run"]));
  const base = recordBase(file, config, name);
  if (rules) return always({ ...base, ...compileRules(rules, name, base.on.map(({ event }) => event)) });
  if (template !== undefined) {
    const model = { model: sessionModel };
    const prompt = promptRecord(compileTemplate(template), model, { modelName: asked.model, cache: asked.cache });
    return (engine) => {
      latest = engine;
      return { ...base, ...prompt };
    };
  }
  return (engine, wire) => ({
    ...base,
    kind: "command",
    dialect: "claude",
    run: async (event): Promise<ProcessResult> => {
      const { cwd } = await engine.session();
      const words = argv.map((word) => word.startsWith("crochet/") ? `${engine.root}/${word}` : word);
      // As the hooks before this one have left it.
      const { tool_input, tool_response, prompt, ...rest } = wireInput(event, cwd, {}, file.event);
      const stdin = `${JSON.stringify({ ...rest, ...wire, tool_input, tool_response, prompt })}\n`;
      const timeoutMs = Math.min(base.timeout ?? MOST_SECONDS, MOST_SECONDS) * 1000;
      try {
        const ran = await engine.run(words, { cwd, env: { CLAUDE_PROJECT_DIR: cwd }, stdin, timeoutMs });
        return { ...ran, code: ran.exitCode, signal: null };
      } catch (error) {
        const { message } = error as Error;
        // A command that fails decides nothing, but one that was never asked is not a guard.
        if (!message.includes("failed to start") || !isGuard(base, event.event)) throw error;
        return { code: 2, signal: null, stdout: "", stderr: `Hook ${name} failed, so this is refused: ${message}` };
      }
    },
    read: (raw, event) => opinionOf(raw as ProcessResult, event, file.event),
  });
}

/** The longest that Claude Code lets a program run. */
const MOST_SECONDS = 600;

/** The engine of the latest event: answers of a model are shared by events, so no event has a model of its own. */
let latest: ModEngine | undefined;

/** The session's own model, asked with the session's key. */
const sessionModel: Model = Object.assign(answered, { hasNoTools: true });

async function* answered({ model, system, messages: [question] }: ModelRequest): AsyncGenerator<ModelEvent> {
  const { isAnswered, text = "", reason } = await latest!.complete({ model, system, prompt: textOf(question) });
  if (!isAnswered) throw new Error(`Cannot ask a model: ${reason ?? "it did not answer"}`);
  yield { type: "message_start", message: { model } };
  yield { type: "content_block_start", index: 0, content_block: { type: "text", text } };
  yield { type: "content_block_stop", index: 0 };
  yield { type: "message_delta", delta: { stop_reason: "end_turn" } };
  yield { type: "message_stop" };
}
