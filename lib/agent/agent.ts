import { present } from "../core/json.ts";
import type { CheckedOptions } from "./session-place.ts";
import { engineOf } from "./engine.ts";
import { limitsOf } from "./given-limits.ts";
import {
  type Agent,
  type AgentOptions,
  type AgentSession,
  checkGiven,
  OPTIONS,
  RUN_OPTIONS,
  type RunOptions,
} from "./options.ts";
import { outputOf, type OutputOption } from "./typed-output.ts";
import { modelParamsOf } from "./params.ts";
import type { HookList } from "../core/hook.ts";
import type { Message, Prompt } from "../core/messages.ts";
import type { Result, RunEvent } from "../core/run-events.ts";
import type { Tool } from "../core/tool.ts";
import { builtProgram, isLoadingScript } from "../runtime/importing.ts";
import { type CodeHooks, liveHooks } from "../hooks/code-hooks.ts";
import type { AgentTool } from "../tools/agent.ts";
import { asTool, isApiTool, type RunnableTool } from "../tools/make-tool.ts";
import { memoryStore, sessionStore } from "../log/stores/memory-store.ts";

/**
 * Makes an agent.
 *
 * @example
 * ```ts
 * import { agent } from "crochet";
 * import { scripted } from "crochet/testing";
 *
 * const helper = agent({ model: scripted([{ text: "It is done" }]), system: "You help." });
 * const { text, stop } = await helper.run("Do it");
 * console.log(stop, text); // done It is done
 * ```
 */
export function agent<O>(options: Omit<AgentOptions, "output"> & { output: OutputOption<O> }): Agent<O>;
export function agent(options?: AgentOptions): Agent;
export function agent(options: AgentOptions = {}): Agent {
  checkGiven(options, OPTIONS, "make an agent");
  modelParamsOf(options);
  engineOf(options.step);
  const given = options.hooks === undefined ? [] : Array.isArray(options.hooks) ? options.hooks : [options.hooks];
  const parts: CheckedOptions = {
    options,
    name: options.name ?? nameFrom(options.from),
    ...toolsOf(options),
    limits: limitsOf(options.limits),
    cwd: pathFrom(options.from, options.cwd ?? process.cwd(), "cwd"),
    hooks: hooksOf(given, options.from),
    script: options.hooks === undefined && /^(?:file:|\/)/.test(options.from ?? "")
      ? pathFrom(options.from, "", "from")
      : undefined,
    store: sessionStore(options.store ?? memoryStore()),
    resolve: (path) => pathFrom(options.from, path, "tape"),
  };
  /** A run that was cut off goes on with no `prompt` or its own. */
  const opened = async (own: RunOptions, prompt?: Prompt): Promise<AgentSession> => {
    checkGiven(own, RUN_OPTIONS, `run agent '${parts.name}'`);
    modelParamsOf(options, own);
    const cwd = own.cwd === undefined ? parts.cwd : pathFrom(options.from, own.cwd, "cwd");
    const { assemble } = await (assembling ??= import("./assemble.ts"));
    return await assemble(parts, { ...own, cwd }, prompt);
  };
  const open = (own: RunOptions = {}) => opened(own);
  const run = async (prompt: Prompt, own: RunOptions = {}): Promise<Result> => {
    const session = await opened(own, prompt);
    try {
      return await session.prompt(prompt);
    } finally {
      await session.close();
    }
  };
  const { from, model, prices, permissions } = options;
  const made: Agent = {
    name: parts.name,
    ...present({ from, model, prices, permissions }),
    ownHooks: async () => {
      const { hookMembers, loadedMembers } = await import("./hook-list.ts");
      const members = await hookMembers(parts);
      return {
        members: members.map((one) => typeof one === "string" ? one : one.records),
        inCode: members.flatMap((one) => typeof one === "string" ? [] : one.records),
        folders: members.filter((one) => typeof one === "string"),
        load: async () => {
          const { lists, load } = loadedMembers(members);
          await load();
          return lists.flatMap(({ records }) => records);
        },
      };
    },
    ownAgents: async (cwd, warn) => {
      const starts = parts.tools.find((one): one is AgentTool => "kinds" in one);
      return await starts?.kinds({ cwd, state: new Map(), warn });
    },
    unguarded: () => {
      const { hooks: _, permissions: __, sandbox: ___, limits: ____, ...rest } = options;
      return agent({ ...rest, hooks: [], limits: { iterations: Infinity, calls: Infinity } });
    },
    open,
    run,
    stream: (prompt, own = {}) =>
      streamed((on, left) => {
        checkGiven(own, RUN_OPTIONS, `run agent '${parts.name}'`);
        const signal = own.signal ? AbortSignal.any([own.signal, left]) : left;
        const toBoth = (event: RunEvent) => {
          own.on?.(event);
          on(event);
        };
        return run(prompt, { ...own, signal, on: toBoth });
      }),
    resume: (past, prompt, own = {}) => run(prompt, { ...own, ...pastOf(past) }),
    fork: (past, prompt, { at, ...own } = {}) => run(prompt, { ...own, ...pastOf(past), fork: at ?? true }),
    main: async (args = process.argv.slice(2)) => {
      if (isLoadingScript()) return;
      const { runAsScript } = await import("../cli/run-agent.ts");
      await runAsScript(made, args);
    },
  };
  return made;
}

/** A stored session, or messages that the caller holds. */
function pastOf(past: string | readonly Message[]): Pick<RunOptions, "resume" | "messages"> {
  return typeof past === "string" ? { resume: past } : { messages: past };
}

/** Kept: to ask for a module again takes longer than to open a session, and those who ask at once get it in any order. */
let assembling: Promise<typeof import("./assemble.ts")> | undefined;

function toolsOf(
  { tools: given = [], mcp, output: wanted }: AgentOptions,
): Pick<CheckedOptions, "tools" | "apiTools" | "output"> {
  const apiTools = given.filter(isApiTool);
  const own = given.filter((one): one is Tool | RunnableTool => !isApiTool(one)).map(asTool);
  const output = wanted && outputOf(wanted, given.length > 0 || mcp !== undefined);
  const tools = output?.tool ? [...own, output.tool] : own;
  const names = new Set<string | undefined>();
  for (const { name } of [...tools, ...apiTools.filter(({ name }) => name !== undefined)]) {
    if (names.has(name)) {
      throw new TypeError(`Cannot make an agent as two of its tools are named '${name}': rename one`);
    }
    names.add(name);
  }
  return present({ tools, apiTools, output });
}

function nameFrom(from: string | undefined): string {
  const file = from?.split(/[/\\]/).pop()?.replace(/\.\w+$/, "");
  return file || "agent";
}

/** The hooks of an agent in the order given; those in code are numbered without the folders between them. */
function hooksOf(given: readonly (string | CodeHooks)[], from: string | undefined): (string | HookList)[] {
  const inCode = liveHooks(given.filter((one): one is CodeHooks => typeof one !== "string"));
  return given.map((one) => typeof one === "string" ? folderOf(from, one) : inCode.shift()!);
}

/** A folder of hooks that is named; one that is not there would leave an agent that nothing guards. */
function folderOf(from: string | undefined, named: string): string {
  const folder = pathFrom(from, named, "hooks");
  const built = builtProgram();
  if (built?.folders[folder]) return folder;
  if (built) {
    throw new TypeError(
      `Cannot make an agent as its folder of hooks '${named}' is not inside this program: 'crochet build' puts in those of the script's own agent, by their path from 'from: import.meta.url'`,
    );
  }
  const { statSync } = process.getBuiltinModule("node:fs");
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return folder;
  throw new TypeError(
    `Cannot make an agent as there is no folder of hooks '${folder}': correct 'hooks', or say [] if there are none`,
  );
}

/** Without node:path and node:url, which cost more to load than the rest of this file. */
function pathFrom(from: string | undefined, path: string, option: string): string {
  if (path.startsWith("/")) return path;
  if (option === "cwd" && builtProgram()) {
    throw new TypeError(
      `Cannot use cwd '${path}' in a built program as there is no folder of the script to start from: give a whole path, or leave it out for the directory it is called in`,
    );
  }
  if (from === undefined) {
    throw new TypeError(
      `Cannot resolve ${option} '${path}' as the agent does not know where it is: add from: import.meta.url`,
    );
  }
  const base = from.startsWith("file:") ? from : `file://${asUrl(from)}`;
  return decodeURIComponent(new URL(asUrl(path), base).pathname).replace(/(.)\/$/, "$1");
}

function asUrl(path: string): string {
  return encodeURI(path).replace(/[?#]/g, encodeURIComponent);
}

/** Turns a run that calls back into one that is iterated; a reader who leaves ends the run. */
async function* streamed<T, R>(
  start: (on: (event: T) => void, left: AbortSignal) => Promise<R>,
): AsyncGenerator<T, R> {
  const queue: T[] = [];
  const leaving = new AbortController();
  let wake: (() => void) | undefined;
  let ended = false;
  const running = start((event) => {
    queue.push(event);
    wake?.();
  }, leaving.signal).finally(() => {
    ended = true;
    wake?.();
  });
  running.catch(() => {}); // thrown to the reader below, once what came before is read
  try {
    while (!ended || queue.length > 0) {
      if (queue.length > 0) yield queue.shift()!;
      else await new Promise<void>((resolve) => wake = resolve);
    }
    return await running;
  } finally {
    leaving.abort(new Error("The reader left"));
    await running.catch(() => {});
  }
}
