import { resolve } from "node:path";
import { ROOTS, type ToolContext } from "../core/tool.ts";
import { checkOptions, type OptionKind } from "../input/options.ts";

/** The id under which tools are called by hand. */
export const STANDALONE = "standalone";

export interface StandaloneOptions {
  /** What relative paths are resolved against, and the directory the tools keep to. @default process.cwd() */
  cwd?: string;
  /** Further directories the tools may use. @default [] */
  roots?: readonly string[];
  /** @default a signal that never aborts */
  signal?: AbortSignal;
  /** Pass the same map to several calls and they share what was read, and the undo log. @default a new map */
  state?: Map<string, unknown>;
  /** @default drops the text */
  progress?: (text: string) => void;
}

const STANDALONE_OPTIONS: { readonly [option in keyof StandaloneOptions]-?: OptionKind } = {
  cwd: "a text",
  roots: "a list of texts",
  signal: "an AbortSignal",
  state: "any",
  progress: "a function",
};

/** The context of a tool that is called by hand: no agent, no hooks. */
export function standaloneContext(name: string, input: unknown, options: StandaloneOptions = {}): ToolContext {
  checkOptions(options, STANDALONE_OPTIONS, `call ${name}`);
  const { cwd = process.cwd(), roots, signal = new AbortController().signal, state = new Map(), progress = () => {} } =
    options;
  const id = `toolu_${crypto.randomUUID().replaceAll("-", "")}`;
  if (roots !== undefined) state.set(ROOTS, [cwd, ...roots].map((root) => resolve(cwd, root)));
  return {
    signal,
    cwd: resolve(cwd),
    toolUseId: id,
    agentId: STANDALONE,
    sessionId: STANDALONE,
    idempotencyKey: id,
    state,
    progress,
    toolUse: { type: "tool_use", id, name, input },
  };
}
