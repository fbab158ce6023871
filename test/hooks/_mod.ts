import { spawnSync } from "node:child_process";
import { cpSync, readFileSync } from "node:fs";
import { lstat, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { install } from "../../lib/cli/hooks/install.ts";
import { testData } from "../_data.ts";
import type { Place } from "../_place.ts";

type Json = { readonly [key: string]: unknown };

/** A hooks folder as a mod, and what Claude Code did with it. */
export interface ModCase {
  readonly id: string;
  readonly event: string;
  readonly hooks: { readonly [file: string]: string };
  readonly model: readonly Json[];
  readonly subagent?: readonly Json[];
  readonly allowedTools: string;
  readonly managedSettings?: Json;
  readonly mcp?: string;
  readonly given?: string;
  readonly expect: {
    /** The content of `made.txt`. */
    readonly made?: string | null;
    readonly reads?: readonly string[];
    readonly requests?: number;
    readonly stdout?: string;
  };
}

export const CASES: readonly ModCase[] = readFileSync(testData("mod-cases.jsonl"), "utf8").trim().split("\n")
  .map((line) => JSON.parse(line));

/** Installs the hooks of a project as a mod with the name of the cases; gives its folder. */
export async function installMod(here: Place, ...more: string[]): Promise<string> {
  const to = join(here.home, "crochet-hooks");
  const args = ["--for", "claude", "--as", "mod", "--to", to, ...more];
  const { code, err } = await here.call(install.default, join(here.cwd, "hooks"), ...args);
  if (code !== 0) throw new Error(err);
  return to;
}

type Event = { readonly [field: string]: any };
type Next = ((e: Event) => Promise<Event>) & { called?: boolean; signal?: AbortSignal; error?: Error };
type Handler = ($: object, e: Event, next: Next) => Promise<Event>;

/** A generated mod in a host that is a table: it calls handlers as Claude Code does, one after the other. */
export class FakeClaude {
  /** What the mod has done. */
  readonly env = new Map<string, string>();
  readonly logged: string[] = [];
  readonly submitted: string[] = [];
  readonly aborted: (string | undefined)[] = [];
  readonly ran: string[][] = [];
  readonly handlers = new Map<string, { readonly matcher: { tool: string[] } | undefined; readonly run: Handler }>();
  readonly catches = new Map<string, Handler>();
  readonly $: object;

  constructor(root: string, cwd: string, session: () => string) {
    this.$ = {
      plugin: { root, name: "crochet-hooks" },
      session: { id: async () => session(), cwd: async () => cwd },
      ui: { log: (text: string) => void this.logged.push(text) },
      env: { set: async (name: string, value: string) => void this.env.set(name, value) },
      turn: { abort: async ({ turnId }: { turnId?: string }) => void this.aborted.push(turnId) },
      prompt: { submit: async ({ text }: { text: string }) => void this.submitted.push(text) },
      process: { run: (argv: string[], options: RunOptions) => this.#run(argv, options) },
      model: { complete: async ({ prompt }: { prompt: string }) => ({ isAnswered: true, text: answerOf(prompt) }) },
      fs: {
        read: (path: string) => readFile(path, "utf8"),
        write: async (path: string, text: string) => {
          await mkdir(dirname(path), { recursive: true });
          await writeFile(path, text);
        },
        list: async (path: string) => (await readdir(path)).map((name) => ({ name })),
        stat: async (path: string) => ({ isLink: (await lstat(path)).isSymbolicLink() }),
      },
    };
  }

  async #run(argv: string[], { cwd, stdin = "", env = {} }: RunOptions) {
    this.ran.push(argv);
    const [program, ...args] = argv;
    const around = { cwd, input: stdin, env: { ...process.env, ...env }, encoding: "utf8" } as const;
    const { status, stdout, stderr, error } = spawnSync(program!, args, around);
    if (error) throw new Error(`crochet-hooks: $.process.run(${program}) failed to start: ${error.message}`);
    return { exitCode: status!, stdout, stderr };
  }

  /** Fires an event: the mod's handler around `below`, or its catch if the handler fails. */
  async fire(on: string, e: Event, below: (e: Event) => Event | Promise<Event> = () => ({})): Promise<Event> {
    const next: Next = async (given) => {
      next.called = true;
      return await below(given);
    };
    next.signal = new AbortController().signal;
    const handler = this.handlers.get(on);
    const misses = handler?.matcher && !handler.matcher.tool.includes(e.tool);
    if (!handler || misses) return await next(e);
    try {
      return await handler.run(this.$, e, next);
    } catch (error) {
      next.error = error as Error;
      return await this.catches.get(on)!(this.$, e, next);
    }
  }

  /** A call of a tool, with its permission checked below, as the program does. */
  async call(tool: string, input: Event, { rule = "allow", result = { stdout: "RAN", stderr: "" } as unknown } = {}) {
    const e = { ...input, tool, tool_use_id: `toolu_${this.#calls++}` };
    let ran: Event | undefined;
    const answer = await this.fire("tool.call", e, async (given) => {
      const { tool: _, tool_use_id, agentId: __, $shadowed, ...rest } = given;
      const asked = { tool, tool_use_id, input: { ...rest, ...$shadowed } };
      const { decision, reason } = await this.fire("tool.check", asked, () => ({ decision: rule }));
      if (decision !== "allow") return { isError: true, text: `Permission denied: ${reason ?? ""}` };
      ran = asked.input;
      return typeof result === "string" ? { isError: true, text: result } : { result };
    });
    return { answer, ran };
  }
  #calls = 0;
}

interface RunOptions {
  readonly cwd?: string;
  readonly stdin?: string;
  readonly env?: Record<string, string>;
}

/** The model of prompt hooks refuses what says so. */
function answerOf(prompt: string): string {
  return JSON.stringify(prompt.includes("BAD") ? { ok: false, reason: "MODEL-NO" } : { ok: true });
}

let copies = 0;

/** Loads a generated mod as the program does: `register` is called with `on`. It is a copy, so that its state is new. */
export async function loadMod(from: string, cwd: string, session = () => "s1"): Promise<FakeClaude> {
  const mod = `${from}.${copies++}`;
  cpSync(from, mod, { recursive: true });
  const claude = new FakeClaude(mod, cwd, session);
  const { register } = await import(join(mod, "hooks/register.js"));
  register((event: string, ...given: unknown[]) => {
    const run = given.at(-1) as Handler;
    claude.handlers.set(event, { matcher: given.length > 1 ? given[0] as { tool: string[] } : undefined, run });
    return { catch: (handler: Handler) => void claude.catches.set(event, handler) };
  });
  return claude;
}
