import { dirname, isAbsolute, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { anthropic, DEFAULT_MODEL, warm } from "./anthropic.ts";
import { systemClock } from "./core/clock.ts";
import { type CodeHooks, codeHooks } from "./core/code-hooks.ts";
import type { HookRecord } from "./core/hook.ts";
import { type AgentSpec, type AskPerson, newLife, type Step } from "./core/life.ts";
import { type Limits, limitsOf } from "./core/limits.ts";
import type { Model } from "./core/model.ts";
import { checkOptions, type OptionKind } from "./core/options.ts";
import type { Result, RunEvent } from "./core/run-events.ts";
import { openSession, type Session } from "./core/session.ts";
import { asTool, type RunnableTool, type Tool } from "./core/tool.ts";
import { price } from "./prices.ts";

/** What an agent is made of. Everything is optional: the least agent is `agent({})`. */
export interface AgentOptions {
  /** `import.meta.url` of the script: relative paths are resolved against it. */
  from?: string;
  /** @default the script's file name, or "agent" */
  name?: string;
  /** A model's name, or a model. @default the environment variable CROCHET_MODEL, else `DEFAULT_MODEL` */
  model?: string | Model;
  system?: string;
  /** Our tools, or the SDK's runnable tools. */
  tools?: readonly (Tool | RunnableTool)[];
  /** A folder of hook files, hooks in code, or a list of both. */
  hooks?: string | CodeHooks | readonly (string | CodeHooks)[];
  limits?: Partial<Limits>;
  /** Runs each model call and tool call: a journal or an engine. @default directly */
  step?: Step;
  /** Ends every run of the agent. */
  signal?: AbortSignal;
  /** Where tools work. @default the process's directory */
  cwd?: string;
  /** Is told everything that happens. */
  on?: (event: RunEvent) => void;
}

/** What one run may have of its own. */
export interface RunOptions {
  signal?: AbortSignal;
  on?: (event: RunEvent) => void;
  /** Overrides the agent's. */
  model?: string | Model;
  limits?: Partial<Limits>;
  cwd?: string;
  /** Asks a person where rules or hooks want that; without it such a call is refused. */
  ask?: AskPerson;
}

/** An agent: a definition that can be run any number of times. */
export interface Agent {
  readonly name: string;
  /** Runs one prompt to its end. A wrong option throws; whatever happens after the start is in the Result. */
  run(prompt: string, options?: RunOptions): Promise<Result>;
  /** As `run`, giving each event as it happens; the generator returns the Result. */
  stream(prompt: string, options?: RunOptions): AsyncGenerator<RunEvent, Result>;
  /** Opens a session that takes several prompts. Close it. */
  open(options?: RunOptions): Session;
  /** Runs the agent as a script: arguments, terminal output, exit code. Takes the flags of `crochet run`. */
  main(args?: readonly string[]): Promise<void>;
}

const OPTIONS: { readonly [option in keyof AgentOptions]-?: OptionKind } = {
  from: "a text",
  name: "a text",
  model: "any",
  system: "a text",
  tools: "a list",
  hooks: "any",
  limits: "an object",
  step: "a function",
  signal: "an AbortSignal",
  cwd: "a text",
  on: "a function",
};

const RUN_OPTIONS: { readonly [option in keyof RunOptions]-?: OptionKind } = {
  signal: "an AbortSignal",
  on: "a function",
  model: "any",
  limits: "an object",
  cwd: "a text",
  ask: "a function",
};

/** What a model may write in one reply. */
const MAX_TOKENS = 32_000;

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
export function agent(options: AgentOptions = {}): Agent {
  checkOptions(options, OPTIONS, "make an agent");
  const name = options.name ?? nameFrom(options.from);
  const tools = toolList(options.tools);
  const limits = limitsOf(options.limits);
  const hooks = hookSource(options);
  const cwd = pathFrom(options.from, options.cwd ?? process.cwd(), "cwd");

  const open = (own: RunOptions = {}): Session => {
    checkOptions(own, RUN_OPTIONS, `run agent '${name}'`);
    const { model, modelName, priced } = modelOf(own.model ?? options.model);
    const bounds = own.limits ? limitsOf({ ...options.limits, ...own.limits }) : limits;
    if (bounds.dollars !== undefined && priced && price(modelName, NO_TOKENS) === undefined) {
      throw new TypeError(
        `Cannot keep limits.dollars as the price of model '${modelName}' is unknown: use limits.tokens`,
      );
    }
    const spec: AgentSpec = {
      type: name,
      model,
      system: options.system ?? "",
      tools,
      limits: bounds,
      maxTokens: MAX_TOKENS,
      hooks,
      step: options.step ?? ((_, work) => work()),
      price: (model, usage) => price(model, usage) ?? (priced ? undefined : 0),
      exec: async (...args) => (await import("./hooks/_exec.ts")).exec(...args),
      ...(own.ask && { askPerson: own.ask }),
    };
    const where = own.cwd === undefined ? cwd : pathFrom(options.from, own.cwd, "cwd");
    const listeners = [options.on, own.on].filter((l) => l !== undefined);
    const emit = (event: RunEvent) => {
      for (const listener of listeners) listener(event);
    };
    const life = newLife({ id: systemClock.uuid(), model: modelName, cwd: () => where, emit });
    const session = openSession(spec, life, { source: "startup" });
    return endedBy(session, [options.signal, own.signal].filter((s) => s !== undefined));
  };
  const run = async (prompt: string, own: RunOptions = {}): Promise<Result> => {
    const session = open(own);
    try {
      return await session.prompt(prompt);
    } finally {
      await session.close();
    }
  };
  return {
    name,
    open,
    run,
    stream: (prompt, own = {}) =>
      streamed((on, left) => {
        const signal = own.signal ? AbortSignal.any([own.signal, left]) : left;
        return run(prompt, { ...own, signal, on: both(own.on, on) });
      }),
    main: async (args = process.argv.slice(2)) => {
      const { runAsScript } = await import("./cli/run.ts");
      await runAsScript({ open, run, name } as Agent, args);
    },
  };
}

function modelOf(given: string | Model | undefined): { model: Model; modelName: string; priced: boolean } {
  if (typeof given === "function") return { model: given, modelName: given.name || "custom", priced: false };
  const modelName = given ?? process.env.CROCHET_MODEL ?? DEFAULT_MODEL;
  if (typeof modelName !== "string" || modelName === "") {
    throw new TypeError(`Cannot use ${JSON.stringify(given)} as a model: give a model's name or a Model function`);
  }
  warm();
  return { model: shared ??= anthropic(), modelName, priced: true };
}

/** One client for all agents of the process: it holds nothing of a conversation but its bytes. */
let shared: Model | undefined;

const NO_TOKENS = { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };

/** The same session, all of whose prompts these signals end. */
function endedBy(session: Session, signals: readonly AbortSignal[]): Session {
  if (signals.length === 0) return session;
  return {
    ...session,
    prompt: (words, own = {}) =>
      session.prompt(words, { ...own, signal: AbortSignal.any(own.signal ? [...signals, own.signal] : [...signals]) }),
  };
}

function toolList(given: AgentOptions["tools"] = []): readonly Tool[] {
  const tools = given.map(asTool);
  const names = new Set<string>();
  for (const { name } of tools) {
    if (names.has(name)) {
      throw new TypeError(`Cannot make an agent as two of its tools are named '${name}': rename one`);
    }
    names.add(name);
  }
  return tools;
}

function hookSource(options: AgentOptions): AgentSpec["hooks"] {
  const given = options.hooks === undefined ? [] : Array.isArray(options.hooks) ? options.hooks : [options.hooks];
  const folders = given.filter((h): h is string => typeof h === "string").map((h) =>
    pathFrom(options.from, h, "hooks")
  );
  const inCode = codeHooks(given.filter((h): h is CodeHooks => typeof h !== "string"));
  if (folders.length === 0) return () => inCode;
  let load: (() => Promise<readonly HookRecord[]>) | undefined;
  return async () => {
    const ready = load ??= (await import("./hooks/hot.ts")).hotFolders(folders, inCode);
    return await ready();
  };
}

function nameFrom(from: string | undefined): string {
  const file = from?.split(/[/\\]/).pop()?.replace(/\.\w+$/, "");
  return file || "agent";
}

function pathFrom(from: string | undefined, path: string, option: string): string {
  if (isAbsolute(path)) return path;
  if (from === undefined) {
    throw new TypeError(
      `Cannot resolve ${option} '${path}' as the agent does not know where it is: add from: import.meta.url`,
    );
  }
  return resolve(from.startsWith("file:") ? dirname(fileURLToPath(from)) : dirname(from), path);
}

function both<T>(a: ((value: T) => void) | undefined, b: (value: T) => void): (value: T) => void {
  return a === undefined ? b : (value) => {
    a(value);
    b(value);
  };
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
