import { HOSTS } from "../../hooks/hosts/index.ts";
import { withPlaceholders } from "../../hooks/process/hook-host.ts";
import { commandLine, environmentOf, processIds, processStat } from "../../process/owner.ts";
import { send } from "../../process/process-tree.ts";
import { runProcess } from "../../process/process.ts";
import { judgingOr } from "../../runtime/judging.ts";
import { Scratch } from "./scratch-project.ts";
import type { Answering, Loaded, Probed, Question, Setup, Target } from "./subject.ts";

/** The process in which one hook is asked. It can be killed at any moment, so a hook that never returns is found. */

export interface HookProbe {
  readonly ask: (question: Question) => Promise<Probed>;
  /** What it says about itself, if loading it is what tells. */
  readonly loaded?: Loaded;
  /** What it keeps in `ctx.values`, if anything. */
  readonly values?: () => string | undefined;
}

const write = process.stdout.write.bind(process.stdout);

// What a module prints is not an answer.
let printed = "";
process.stdout.write = ((text: string | Uint8Array) => {
  if (printed.length < 20_000) printed += typeof text === "string" ? text : new TextDecoder().decode(text);
  return true;
}) as typeof process.stdout.write;
for (const name of ["log", "info", "debug", "warn", "error"] as const) {
  console[name] = (...words: unknown[]) => void (printed += `${words.map(String).join(" ")}\n`);
}

async function begin(setup: Setup): Promise<(question: Question) => Promise<Answering>> {
  process.chdir(setup.place.project);
  const survivors = survivorsOf(setup);
  const { ask, loaded, values } = setup.target.type === "command"
    ? command(setup)
    : await (await import("./_child-record.ts")).askerFor(setup);
  answer({ ...(loaded && { loaded }) });
  return async (question) => {
    printed = "";
    const events = [question.event, ...(question.beside ?? [])];
    const [probed, ...beside] = await Promise.all(
      events.map((event) =>
        judgingOr(
          () => ask({ ...question, event }),
          (message) => ({ ms: 0, failure: { at: "exit" as const, message } }),
        )
      ),
    );
    const [left, kept] = [await survivors(), values?.()];
    return {
      probed: {
        ...probed!,
        ...(beside.length > 0 && { beside }),
        ...(kept !== undefined && { values: kept }),
        ...(left.length > 0 && { survivors: left }),
        ...(printed !== "" && { printed }),
      },
    };
  };
}

/** Runs a command as its host would: the event on stdin, in a session and group of its own. */
function command({ target, place, host, env }: Setup): HookProbe {
  const { command, args } = target as Target & { type: "command" };
  const { sessionVariable, noLineFeed } = HOSTS[host].commands!;
  const ask: HookProbe["ask"] = async ({ event, limit }) => {
    const session = String(event.session_id ?? "");
    const own = {
      ...env,
      CLAUDE_CODE_SESSION_ID: session,
      ...(sessionVariable !== undefined && { [sessionVariable]: session }),
    };
    const start = performance.now();
    try {
      const { code, signal, stdout, stderr, ended } = await runProcess({
        command: args ? withPlaceholders(command, own) : command,
        args: args?.map((arg) => withPlaceholders(arg, own)),
        cwd: place.project,
        env: own,
        input: `${JSON.stringify(event)}${noLineFeed ? "" : "\n"}`,
        timeout: limit,
        outputDir: () => place.kept,
      });
      const ms = performance.now() - start;
      return { ms, ran: { code, signal, stdout, stderr }, ...(ended && { timedOut: true }) };
    } catch (error) {
      return { ms: performance.now() - start, failure: { at: "start", message: (error as Error).message } };
    }
  };
  return { ask };
}

/** Ends what a hook left running, and gives its command lines: all of its namespace, else what carries the token. */
function survivorsOf({ alone, token }: Setup): () => Promise<string[]> {
  const spared = new Set(alone ? processIds() : [process.pid, process.ppid]);
  const find = () =>
    processIds().filter((pid) => !spared.has(pid)).flatMap((pid) => {
      if (!alone && !environmentOf(pid).includes(`CROCHET_CHECK=${token}`)) return [];
      // A process that is just ending has no command line any more.
      const line = commandLine(pid);
      return line === "" || !processStat(pid) ? [] : [{ pid, line }];
    });
  let asked = 0;
  // Some hooks leave something short behind: it is waited for once.
  let patience = 2000;
  return async () => {
    // To look through all processes of a machine takes longer than most hooks.
    if (!alone && ++asked > 3 && asked % 25 !== 0) return [];
    let found = find();
    for (const until = Date.now() + patience; found.length > 0 && Date.now() < until; found = find()) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    for (const { pid } of found) send(pid, "SIGKILL");
    if (found.length > 0) patience = 0;
    return found.map(({ line }) => line);
  };
}

let token = "";
// What the hook's own programs print may leave a line open.
const answer = (value: Answering) => void write(`\n${token}${JSON.stringify(value)}\n`);

let place: Setup["place"] | undefined;
let last: ReturnType<typeof begin> | undefined;
function take(line: string): void {
  const given = JSON.parse(line) as Setup & Question;
  if (last === undefined) ({ token, place } = given);
  last = last === undefined ? begin(given) : last.then(async (ask) => {
    answer(await ask(given));
    return ask;
  });
  last.catch((error) => answer({ broken: error instanceof Error ? error.message : String(error) }));
}

// Only a line feed ends a line: readline would also split at U+2028, which JSON may hold.
let rest = "";
process.stdin.setEncoding("utf8").on("data", (chunk: string) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop()!;
  for (const line of lines) take(line);
}).once("end", () => {
  // The one that asks is gone without a word: test runners end so.
  if (place) Scratch.remove(place);
  process.exit(0);
});
