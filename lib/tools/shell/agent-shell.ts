import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { shellWord } from "../../core/shown.ts";
import type { Sandbox } from "../../permissions/sandbox.ts";
import { capture, type Captured } from "./shell-output.ts";
import { type CommandEnd, type OnOutput, openShell, type Shell, type ShellRunOptions } from "./shells.ts";

export interface BackgroundRun {
  readonly id: string;
  readonly command: string;
  readonly description?: string | undefined;
  /** How it ended; undefined while it runs. */
  readonly end: () => (CommandEnd & { readonly killed: boolean }) | undefined;
  readonly ended: Promise<void>;
  /** What it printed since the last look. */
  readonly output: () => Captured;
  readonly stop: () => Promise<void>;
}

/** The shell of one agent, from its first command to the end of its session. */
export interface AgentShell {
  readonly cwd: () => string;
  readonly background: ReadonlyMap<string, BackgroundRun>;
  /** Runs a command in the shell; `notice` says what a reader would not expect of it. */
  readonly run: (command: string, options: ShellRunOptions) => Promise<CommandEnd & { readonly notice?: string }>;
  /** Runs a command beside the shell, with its folder and exported variables. */
  readonly start: (
    command: string,
    options: { output: { cwd: string; name: string }; description: string | undefined },
  ) => Promise<BackgroundRun>;
  /** Ends the shell and everything it started. */
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

export interface AgentShellOptions {
  readonly cwd: string;
  /** Where it begins, if that is still there. @default cwd */
  readonly place?: string | undefined;
  /** Whether there was a shell before it, which the agent may expect to be still there. */
  readonly again?: boolean;
  readonly sandbox?: Sandbox | undefined;
  /** A script that sets variables, read by each new shell if it is there then. */
  readonly envFile?: string | undefined;
}

/** Opens nothing yet: the first command does. */
export function agentShell(
  { cwd: home, place: left, again = false, sandbox, envFile }: AgentShellOptions,
): AgentShell {
  const background = new Map<string, BackgroundRun>();
  let place = left ?? home;
  let shell: Shell | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  let late: Parameters<OnOutput>[] = [];

  const open = async (): Promise<Shell> => {
    const wrap = sandbox && await (await import("../../permissions/sandbox.ts")).openSandbox(sandbox);
    return openShell({ cwd: place, env: process.env, ...(wrap && { wrap }) });
  };

  /** A new shell in the old one's directory, and what to report about it. */
  const renew = async (): Promise<string[]> => {
    const notices: string[] = [];
    if (!existsSync(place)) {
      notices.push(`The folder ${place} is gone, so the shell works in ${home}.`);
      place = home;
    }
    if (shell || again) {
      notices.unshift(
        `The shell had ended: this is a new one in ${place}, without the old one's variables, functions and jobs.`,
      );
    }
    shell = await open();
    if (envFile !== undefined && existsSync(envFile)) {
      await shell.run(`. ${shellWord(envFile)}`, { onOutput: () => {} });
    }
    return notices;
  };

  /** One command at a time: a shell has one foreground. */
  const queued = <T>(work: () => Promise<T>): Promise<T> => {
    const next = turn.then(work);
    turn = next.catch(() => {});
    return next;
  };

  /** The variables and functions a command would get, as bash sets them; what else is printed is kept for the next command. */
  const exported = async (): Promise<string> => {
    if (!shell?.alive()) return "";
    const mark = randomBytes(16).toString("hex");
    const heard: Buffer[] = [];
    await shell.run(`builtin printf %s ${mark}; builtin export -p; builtin declare -fx; builtin printf %s ${mark}`, {
      onOutput: (stream, data) => stream === "stdout" ? heard.push(Buffer.from(data)) : late.push([stream, data]),
    });
    const [before = "", script = "", after = ""] = Buffer.concat(heard).toString("utf8").split(mark);
    for (const text of [before, after]) if (text !== "") late.push(["stdout", Buffer.from(text)]);
    return script;
  };

  /**
   * A second shell with the first one's variables. It gets them inside: what starts a sandbox stands outside, and
   * BASH_ENV or LD_PRELOAD would have it run what lies in the workspace.
   */
  const beside = async (): Promise<Shell> => {
    const script = await exported();
    const second = await open();
    const old = Object.keys(process.env).filter((name) => /^[A-Za-z_]\w*$/.test(name));
    if (script !== "") await second.run(`builtin unset ${old.join(" ")}\n${script}`, { onOutput: () => {} });
    return second;
  };

  return {
    cwd: () => place,
    background,
    run: (command, options) =>
      queued(async () => {
        const notices = shell?.alive() ? [] : await renew();
        for (const [stream, data] of late) options.onOutput(stream, data);
        late = [];
        const end = await shell!.run(command, options);
        place = shell!.cwd();
        return { ...end, ...(notices.length > 0 && { notice: notices.join("\n") }) };
      }),
    start: (command, { output, description }) =>
      queued(async () => {
        const run = inBackground(await beside(), command, { id: `bash_${background.size + 1}`, output, description });
        background.set(run.id, run);
        return run;
      }),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...background.values()].map((run) => run.stop()));
      await shell?.close();
    },
  };
}

function inBackground(
  shell: Shell,
  command: string,
  options: { id: string; description: string | undefined; output: { cwd: string; name: string } },
): BackgroundRun {
  const { id, description } = options;
  let output = capture({ ...options.output, name: `${options.output.name}-${id}` });
  let end: ReturnType<BackgroundRun["end"]>;
  let killed = false;
  const ended = shell.run(command, { hold: false, onOutput: (stream, data) => output.hear(stream, data) }).then(
    async (how) => {
      end = { ...how, killed };
      await shell.close();
    },
  );
  return {
    id,
    command,
    description,
    end: () => end,
    ended,
    output: () => {
      const seen = output;
      output = seen.next();
      return seen.end({ more: end === undefined });
    },
    stop: async () => {
      killed ||= end === undefined;
      await shell.close();
      await ended;
    },
  };
}
