/**
 * Writes down an event of a watched agent and exits: silent, with exit code 0 on every path, so that it can never block
 * the agent (S2.8). A watched agent's settings start this file for each event, and loading is nearly all it does, so it
 * imports nothing (node:fs alone takes more than half as long to load as the runtime).
 */
import type { OnPrompt } from "../../cli/kit/config.ts";
import type { AgentEvent, MonitorLog, PromptType } from "./monitor-log.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The folder of the logs of watched agents: in `CROCHET_HOME`, else in `.crochet` of the user's home. */
export function agentsDir(env: Environment): string {
  if (env.CROCHET_HOME?.startsWith("/")) return `${env.CROCHET_HOME}/agents`;
  return `${env.HOME || process.getBuiltinModule("node:os").homedir()}/.crochet/agents`;
}

/** Whether an id can only name a log. */
export function isAgentId(id: unknown): id is string {
  return typeof id === "string" && /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/.test(id) && !id.includes("..");
}

export function logOf(dir: string, id: string): MonitorLog {
  return { lines: `${dir}/${id}.jsonl`, notes: `${dir}/${id}.notes` };
}

const PROMPTS: Readonly<Record<string, PromptType>> = {
  ExitPlanMode: "plan_approval",
  EnterPlanMode: "plan_approval",
  AskUserQuestion: "question",
};

/** What kind of decision a tool waits for, if any (S2.4, S2.5). */
export function promptTypeOf(tool_name: unknown): PromptType | undefined {
  return typeof tool_name === "string" && Object.hasOwn(PROMPTS, tool_name) ? PROMPTS[tool_name] : undefined;
}

/** The question in a tool's input, at most 200 characters, as it is read at a glance. */
export function questionIn(input: unknown): string {
  const { questions, plan } = (input ?? {}) as { questions?: { question?: unknown }[]; plan?: unknown };
  if (typeof plan === "string") return plan.split("\n", 1)[0]!.slice(0, 200);
  const question = Array.isArray(questions) ? questions[0]?.question : undefined;
  return typeof question === "string" ? question.slice(0, 200) : "";
}

/** Writes down the event on stdin. */
export async function noteEvent([name, id]: readonly string[], env: Environment): Promise<void> {
  try {
    if (!isAgentId(id)) return;
    const dir = agentsDir(env);
    const log = logOf(dir, id);
    const event = eventOf(name, await readInput());
    if (!event) return;
    const counts = event.type === "prompt" && (await import("./monitor-log.ts")).isNews(log, event);
    const file = `${log.notes}/${event.at}-${process.pid}.json`;
    await writeNote(file, JSON.stringify(event)).catch(() => {});
    if (!counts) return;
    const { onPrompt, fire } = await onPromptOf(dir, id);
    startAction(onPrompt, id, event, { fire });
  } catch { /* the agent goes on in any case */ }
}

/** Other users must not read the question. Bun takes the mode of new files from the umask alone. */
async function writeNote(file: string, line: string): Promise<void> {
  if (!BUN) {
    fs().mkdirSync(file.slice(0, file.lastIndexOf("/")), { recursive: true, mode: 0o700 });
    return fs().writeFileSync(file, line, { mode: 0o600 });
  }
  const usual = process.umask(0o077);
  try {
    await BUN.write(file, line, { createPath: true });
  } finally {
    process.umask(usual);
  }
}

async function readInput(): Promise<Record<string, unknown>> {
  try {
    const input: unknown = JSON.parse(BUN ? await BUN.stdin.text() : fs().readFileSync(0, "utf8"));
    return typeof input === "object" && input !== null ? input as Record<string, unknown> : {};
  } catch {
    return {};
  }
}

function eventOf(name: string | undefined, input: Record<string, unknown>): AgentEvent | undefined {
  const at = new Date().toISOString();
  if (name === "stop") return { type: "turn_end", at };
  if (name === "posttooluse" || name === "userpromptsubmit") return { type: "activity", at };
  // After these the same process continues with another session.
  if (name === "sessionend") {
    return ["clear", "resume"].includes(String(input.reason)) ? undefined : { type: "end", at };
  }
  if (name === "notification") {
    const message = typeof input.message === "string" ? input.message : "";
    if (input.notification_type === "permission_prompt" || /permission/i.test(message)) {
      return { type: "prompt", prompt_type: "permission", message, at };
    }
    return input.notification_type === "idle_prompt" ? { type: "left", at } : undefined;
  }
  const prompt_type = name === "pretooluse" ? promptTypeOf(input.tool_name) : undefined;
  return prompt_type && { type: "prompt", prompt_type, message: questionIn(input.tool_input), at };
}

/** The file that says what to do when one agent begins to wait. */
export function onPromptFile(dir: string, id: string): string {
  return `${dir}/${id}.on-prompt.json`;
}

/** What to do when an agent begins to wait. */
interface StoredOnPrompt {
  readonly onPrompt: OnPrompt;
  /** The command that fires the `agent-prompt` hooks of the agent's project. */
  readonly fire?: string;
}

async function onPromptOf(dir: string, id: string): Promise<StoredOnPrompt> {
  const file = onPromptFile(dir, id);
  // Asking whether a file exists is quicker than catching an error.
  const text = BUN
    ? await BUN.file(file).exists() && await BUN.file(file).text()
    : fs().existsSync(file) && fs().readFileSync(file, "utf8");
  return text ? JSON.parse(text) as StoredOnPrompt : { onPrompt: "escalate" };
}

/** Starts the action in a process of its own; a question that is `shown` on the agent's terminal gets no line there. */
export function startAction(
  onPrompt: OnPrompt,
  id: string,
  prompt: { readonly prompt_type: PromptType; readonly message: string },
  { shown = false, fire }: { readonly shown?: boolean; readonly fire?: string | undefined } = {},
): void {
  if (fire === undefined && onPrompt === "none") return;
  const actions = { escalate: shown ? NOTIFY : `${NOTIFY} || ${BELL}`, none: ":" };
  const action = typeof onPrompt === "string" ? actions[onPrompt] : onPrompt.command;
  const command = fire === undefined ? action : `${fire} &\n${action}`;
  const env = {
    ...process.env,
    CROCHET_AGENT_ID: id,
    CROCHET_PROMPT_TYPE: prompt.prompt_type,
    CROCHET_PROMPT_MESSAGE: prompt.message,
  };
  if (BUN) {
    BUN.spawn(["/bin/sh", "-c", command], { env, stdio: ["ignore", "ignore", "ignore"], detached: true }).unref();
  } else {
    process.getBuiltinModule("node:child_process")
      .spawn("/bin/sh", ["-c", command], { env, detached: true, stdio: "ignore" }).on("error", () => {}).unref();
  }
}

/** A desktop notification, if there is a desktop. */
const NOTIFY = `words="Agent $CROCHET_AGENT_ID waits ($CROCHET_PROMPT_TYPE): $CROCHET_PROMPT_MESSAGE"
notify-send Crochet "$words" 2>/dev/null ||
osascript -e "display notification \\"waits ($CROCHET_PROMPT_TYPE)\\" with title \\"Crochet\\"" 2>/dev/null`;

/** Otherwise the terminal's bell and a line. */
const BELL = `printf '\\a%s\\n' "$words" > /dev/tty 2>/dev/null`;

/** Bun's own API, which needs no loading; other runtimes have node's modules loaded already. */
const { Bun: BUN } = globalThis as unknown as {
  Bun?: {
    readonly stdin: { text(): Promise<string> };
    file(path: string): { exists(): Promise<boolean>; text(): Promise<string> };
    write(path: string, text: string, options: { createPath: boolean }): Promise<number>;
    spawn(command: readonly string[], options: object): { unref(): void };
  };
};

function fs() {
  return process.getBuiltinModule("node:fs");
}

// What a watched agent's settings start: `<runtime> <this file> agent hook pretooluse <id>`.
// Not awaited: with a top-level await here, Deno could not import the file that imports this one.
if (import.meta.main) noteEvent(process.argv.slice(4), process.env).catch(() => {}).finally(() => process.exit(0));
