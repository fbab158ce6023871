/**
 * Notes an event of a watched agent and is gone: silent, exit code 0 on every path, so that it can never stand in the
 * agent's way (S2.8). A process is started for each event, and loading is nearly all it does: this file imports nothing
 * (node:fs alone takes more than half as long to load as the runtime), and is what a watched agent's settings start.
 */
import type { OnPrompt } from "./on-prompt.ts";
import type { AgentEvent, PromptType } from "./state.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Where the logs of watched agents lie: `CROCHET_HOME`, else `.crochet` in the home of whoever runs us. */
export function agentsDir(env: Environment): string {
  if (env.CROCHET_HOME?.startsWith("/")) return `${env.CROCHET_HOME}/agents`;
  return `${env.HOME || process.getBuiltinModule("node:os").homedir()}/.crochet/agents`;
}

/** Refuses an id that could name anything but a log. */
export function isAgentId(id: unknown): id is string {
  return typeof id === "string" && /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/.test(id) && !id.includes("..");
}

/** The file of an agent's events; and beside it a folder, where a process that must be quick leaves a file for each. */
export function logOf(dir: string, id: string): { readonly lines: string; readonly notes: string } {
  return { lines: `${dir}/${id}.jsonl`, notes: `${dir}/${id}.notes` };
}

const PROMPTS: Readonly<Record<string, PromptType>> = {
  ExitPlanMode: "plan_approval",
  EnterPlanMode: "plan_approval",
  AskUserQuestion: "question",
};

/** What kind of decision a tool waits for; undefined where it waits for none (S2.4, S2.5). */
export function promptTypeOf(tool_name: unknown): PromptType | undefined {
  return typeof tool_name === "string" && Object.hasOwn(PROMPTS, tool_name) ? PROMPTS[tool_name] : undefined;
}

/** What a person is asked, as far as a tool's input tells: at most 200 characters, as it is read at a glance. */
export function questionIn(input: unknown): string {
  const { questions, plan } = (input ?? {}) as { questions?: { question?: unknown }[]; plan?: unknown };
  if (typeof plan === "string") return plan.split("\n", 1)[0]!.slice(0, 200);
  const question = Array.isArray(questions) ? questions[0]?.question : undefined;
  return typeof question === "string" ? question.slice(0, 200) : "";
}

/** Notes what stdin tells. */
export async function noteEvent([name, id]: readonly string[], env: Environment): Promise<void> {
  try {
    if (!isAgentId(id)) return;
    const dir = agentsDir(env);
    const event = eventOf(name, await readInput());
    if (!event) return;
    const counts = event.type === "prompt" &&
      (event.prompt_type !== "permission" || await (await import("./log.ts")).takesPermission(dir, id));
    const file = `${logOf(dir, id).notes}/${event.at}-${process.pid}.json`;
    await writeNote(file, JSON.stringify(event)).catch(() => {});
    if (!counts) return;
    const { onPrompt, fire } = await onPromptOf(dir, id);
    startAction(onPrompt, id, event, { fire });
  } catch { /* whatever it is, the agent goes on */ }
}

/** Others may not read what a person is asked. Bun asks the umask alone how folders and files are made. */
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

type Note = Extract<AgentEvent, { type: "prompt" | "activity" | "turn_end" | "end" }>;

function eventOf(name: string | undefined, input: Record<string, unknown>): Note | undefined {
  const at = new Date().toISOString();
  if (name === "stop") return { type: "turn_end", at };
  if (name === "posttooluse" || name === "userpromptsubmit") return { type: "activity", at };
  // After these the same process goes on with another session.
  if (name === "sessionend") {
    return ["clear", "resume"].includes(String(input.reason)) ? undefined : { type: "end", at };
  }
  if (name === "notification") {
    const message = typeof input.message === "string" ? input.message : "";
    if (input.notification_type === "permission_prompt" || /permission/i.test(message)) {
      return { type: "prompt", prompt_type: "permission", message, at };
    }
    return input.notification_type === "idle_prompt" ? { type: "turn_end", at } : undefined;
  }
  const prompt_type = name === "pretooluse" ? promptTypeOf(input.tool_name) : undefined;
  return prompt_type && { type: "prompt", prompt_type, message: questionIn(input.tool_input), at };
}

/** Where it is remembered what to do for one agent. */
export function onPromptFile(dir: string, id: string): string {
  return `${dir}/${id}.on-prompt.json`;
}

/** What to do when an agent begins to wait. */
interface OnPromptNote {
  readonly onPrompt: OnPrompt;
  /** The command that fires the `agent-prompt` hooks of the agent's project. */
  readonly fire?: string;
}

async function onPromptOf(dir: string, id: string): Promise<OnPromptNote> {
  const file = onPromptFile(dir, id);
  // To be told that a file is not there is quicker than to be thrown an error.
  const text = BUN
    ? await BUN.file(file).exists() && await BUN.file(file).text()
    : fs().existsSync(file) && fs().readFileSync(file, "utf8");
  return text ? JSON.parse(text) as OnPromptNote : { onPrompt: "escalate" };
}

/**
 * Runs the action beside us: nobody waits for it, and nothing it does reaches the agent. An agent that asks in a
 * terminal of its own (`shown`) gets no line there.
 */
export function startAction(
  onPrompt: OnPrompt,
  id: string,
  prompt: { readonly prompt_type: PromptType; readonly message: string },
  { shown = false, fire }: { readonly shown?: boolean; readonly fire?: string | undefined } = {},
): void {
  const action = onPrompt === "escalate"
    ? (shown ? NOTIFY : `${NOTIFY} || ${TELL}`)
    : onPrompt === "none"
    ? ":"
    : onPrompt.command;
  if (fire === undefined && onPrompt === "none") return;
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

/** A desktop notification where there is a desktop. */
const NOTIFY = `words="Agent $CROCHET_AGENT_ID waits ($CROCHET_PROMPT_TYPE): $CROCHET_PROMPT_MESSAGE"
notify-send Crochet "$words" 2>/dev/null ||
osascript -e "display notification \\"waits ($CROCHET_PROMPT_TYPE)\\" with title \\"Crochet\\"" 2>/dev/null`;

/** Else the terminal's bell and a line. */
const TELL = `printf '\\a%s\\n' "$words" > /dev/tty 2>/dev/null`;

/** Bun's own ways, which need nothing to be loaded; the other runtimes have loaded node's already. */
const { Bun: BUN } = globalThis as unknown as {
  Bun?: {
    readonly stdin: { text(): Promise<string> };
    file(path: string): { exists(): Promise<boolean>; text(): Promise<string> };
    write(path: string, text: string, options: { createPath: boolean }): Promise<number>;
    spawn(
      command: readonly string[],
      options: { env: object; stdio: readonly string[]; detached: boolean },
    ): { unref(): void };
  };
};

function fs() {
  return process.getBuiltinModule("node:fs");
}

// What a watched agent's settings start: `<runtime> <this file> agent hook pretooluse <id>`.
// Not awaited: while this file waits at its top, Deno cannot import the one that imports it.
if (import.meta.main) void noteEvent(process.argv.slice(4), process.env).then(() => process.exit(0));
