import type { HookRecord } from "../../core/hook.ts";
import { textOf } from "../../core/messages.ts";
import type { Model, ModelEvent } from "../../core/model.ts";
import type { Ran } from "../../process/process.ts";
import type { HookFile } from "../discover.ts";
import { parseFileName } from "../file/file-name.ts";
import { type HookConfig, isGuard, moduleRecord, recordBase } from "../file/record.ts";
import { promptRecord } from "../prompt.ts";
import type { Rule } from "../rule.ts";
import { compileRules } from "../rules.ts";
import { opinionOf } from "../serving/command.ts";
import { compileTemplate } from "../template.ts";
import type { Engine } from "./engine.ts";

/** A hook as the mod's code holds it: read when the mod was made. */
export type ModHook =
  & { readonly name: string }
  & (
    | { readonly module: { readonly default?: unknown; readonly config?: unknown } }
    | { readonly config: HookConfig; readonly rules: readonly Rule[] }
    | {
      readonly config: HookConfig;
      readonly template: string;
      readonly model?: string;
      readonly cache?: boolean | number;
    }
    /** A word that begins with `crochet/` is a file of the mod. A child is a module in a process of its own. */
    | { readonly config: HookConfig; readonly argv: readonly string[]; readonly isChild?: boolean }
  );

const commands = new WeakMap<HookRecord, readonly string[]>();

export function recordOf(hook: ModHook): HookRecord {
  const { name } = hook;
  const named = parseFileName(name, { executable: true });
  const file: HookFile = { ...named, name, path: name, at: name, text: "", executable: false };
  if ("module" in hook) return moduleRecord(file, hook.module, name, (run) => run as HookRecord["run"]);
  const base = recordBase(file, hook.config, name);
  if ("rules" in hook) return { ...base, ...compileRules(hook.rules, name, base.on.map(({ event }) => event)) };
  if ("template" in hook) {
    const { warnings: _, ...parts } = promptRecord(compileTemplate(hook.template), SESSION_MODEL, {
      modelName: hook.model,
      cache: hook.cache,
    });
    return { ...base, ...parts };
  }
  const record: HookRecord = {
    ...base,
    kind: hook.isChild ? "module" : "command",
    dialect: "claude",
    run: () => undefined,
    read: (raw, event) => opinionOf(raw as Ran, event, file.event),
  };
  commands.set(record, hook.argv);
  return record;
}

/** The engine of the latest event: answers of a model are shared by events, so no event has a model of its own. */
let latest: Engine | undefined;

/** The record for one event. */
export function boundTo(record: HookRecord, engine: Engine, wire: object): HookRecord {
  latest = engine;
  const argv = commands.get(record);
  if (!argv) return record;
  let refused: string | undefined;
  return {
    ...record,
    run: async (event) => {
      refused = undefined;
      try {
        return await started(argv, engine, record.timeout, wire);
      } catch (error) {
        const { message } = error as Error;
        // A command that fails decides nothing, but one that was never asked is not a guard.
        if (!message.includes("failed to start") || !isGuard(record, event.event)) throw error;
        refused = message;
      }
    },
    read: (raw, event) =>
      refused === undefined ? record.read(raw, event) : { decision: "deny", reason: notAsked(record, refused) },
  };
}

function notAsked({ name }: HookRecord, why: string): string {
  return `Hook ${name} failed, so this is refused: ${why}`;
}

/** The longest that Claude Code lets a program run. */
const MOST_SECONDS = 600;

async function started(
  argv: readonly string[],
  engine: Engine,
  seconds: number | undefined,
  wire: object,
): Promise<Ran> {
  const { cwd } = await engine.session();
  const words = argv.map((word) => word.startsWith("crochet/") ? `${engine.root}/${word}` : word);
  const timeoutMs = Math.min(seconds ?? MOST_SECONDS, MOST_SECONDS) * 1000;
  const around = { cwd, env: { CLAUDE_PROJECT_DIR: cwd }, timeoutMs };
  const { exitCode, stdout, stderr } = await engine.run(words, { ...around, stdin: `${JSON.stringify(wire)}\n` });
  return { code: exitCode, signal: null, stdout, stderr };
}

/** The session's own model, asked with the session's key. */
const SESSION_MODEL: { readonly model: Model } = {
  model: async function* (request): AsyncGenerator<ModelEvent> {
    const { model, system, messages: [question] } = request;
    const answer = await latest!.complete({ model, system, prompt: textOf(question!) });
    if (!answer.isAnswered) throw new Error(`Cannot ask a model: ${answer.reason ?? "it did not answer"}`);
    yield { type: "message_start", message: { model } };
    yield { type: "content_block_start", index: 0, content_block: { type: "text", text: answer.text ?? "" } };
    yield { type: "content_block_stop", index: 0 };
    yield { type: "message_delta", delta: { stop_reason: "end_turn" } };
    yield { type: "message_stop" };
  },
};
