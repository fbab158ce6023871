import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentState } from "./state.ts";

/** What is done when an agent begins to wait for a decision: tell a person, run a command, or nothing. */
export type OnPrompt = "escalate" | "none" | { readonly command: string };

/** Remembers what to do for one agent; the default is to escalate (S2.14). */
export function rememberOnPrompt(dir: string, id: string, onPrompt: OnPrompt): void {
  writeFileSync(join(dir, `${id}.on-prompt.json`), JSON.stringify(onPrompt), { mode: 0o600 });
}

export function onPromptOf(dir: string, id: string): OnPrompt {
  const file = join(dir, `${id}.on-prompt.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) as OnPrompt : "escalate";
}

/** What to do, as a person writes it in a flag; undefined where it is not given. */
export function readOnPrompt(given: string | boolean | undefined): OnPrompt | undefined {
  if (typeof given !== "string") return undefined;
  return given === "escalate" || given === "none" ? given : { command: given };
}

/**
 * Runs the action beside us: nobody waits for it, and nothing it does reaches the agent. An agent that asks in a
 * terminal of its own (`shown`) gets no line there.
 */
export function act(
  onPrompt: OnPrompt,
  id: string,
  state: AgentState & { state: "prompting" },
  { shown = false } = {},
): void {
  if (onPrompt === "none") return;
  const env = {
    ...process.env,
    CROCHET_AGENT_ID: id,
    CROCHET_PROMPT_TYPE: state.prompt_type,
    CROCHET_PROMPT_MESSAGE: state.message,
  };
  const command = onPrompt === "escalate" ? (shown ? NOTIFY : `${NOTIFY} || ${TELL}`) : onPrompt.command;
  spawn("/bin/sh", ["-c", command], { env, detached: true, stdio: "ignore" }).on("error", () => {}).unref();
}

/** A desktop notification where there is a desktop. */
const NOTIFY = `words="Agent $CROCHET_AGENT_ID waits ($CROCHET_PROMPT_TYPE): $CROCHET_PROMPT_MESSAGE"
notify-send Crochet "$words" 2>/dev/null ||
osascript -e "display notification \\"waits ($CROCHET_PROMPT_TYPE)\\" with title \\"Crochet\\"" 2>/dev/null`;

/** Else the terminal's bell and a line. */
const TELL = `printf '\\a%s\\n' "$words" > /dev/tty 2>/dev/null`;
