import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type OnPrompt, onPromptFor, readConfig } from "../../cli/kit/config.ts";
import { hooksHere } from "../../cli/kit/find-hooks.ts";
import { command, type Usage } from "../../cli/kit/flags.ts";
import { group } from "../../cli/kit/group.ts";
import { EXIT, UsageError } from "../../cli/kit/io.ts";
import type { EventFields } from "../../core/events.ts";
import { writeWhole } from "../../files/drafts.ts";
import { hookFiles } from "../../hooks/hook-files.ts";
import { withEntries } from "../../hooks/install-text.ts";
import { ownCommand } from "../../hooks/own-command.ts";
import { HookRegistry } from "../../hooks/registry.ts";
import { beginLog, readEvents } from "./monitor-log.ts";
import { agentsDir, isAgentId, logOf, noteEvent, onPromptFile } from "./note.ts";
import { exec } from "../../process/process.ts";

const SETTINGS: Usage = {
  name: "agent settings",
  words: "<id>",
  about: "Prepares the settings file of a watched agent and prints its path.",
  flags: [
    ["--workspace <dir>", "the agent's project"],
    ["--on-prompt <what>", "escalate, none or a command; by default as in config.yaml"],
  ],
  example: "crochet agent settings fixer",
};

const settings = command(SETTINGS, async ({ words: [id], flags }, io) => {
  if (!isAgentId(id)) {
    throw new UsageError(
      `Cannot watch agent '${id}' as that is not an id: expected letters, digits, '_', '-', '.' or ':'`,
    );
  }
  const dir = agentsDir(io.env);
  const workspace = resolve(io.cwd, String(flags.workspace ?? "."));
  const path = await prepareSettings(dir, id, workspace, ownCommand("extensions/monitor/note")).catch((error) => {
    throw error instanceof TypeError ? new UsageError(error.message) : error;
  });
  const onPrompt = readOnPrompt(flags.onPrompt) ?? await onPromptFor(await readConfig(workspace, io), io.env);
  const fire = ownCommand("cli/main", "agent", "prompt", id);
  writeFileSync(onPromptFile(dir, id), JSON.stringify({ onPrompt, fire }), { mode: 0o600 });
  beginLog(logOf(dir, id), { type: "start", workspace, at: new Date().toISOString() });
  io.out(`${path}\n`);
  return EXIT.ok;
});

const PROMPT: Usage = {
  name: "agent prompt",
  words: "<id>",
  about: "Fires the agent-prompt hooks of a watched agent's project; started when the agent begins to wait. " +
    "CROCHET_PROMPT_TYPE and CROCHET_PROMPT_MESSAGE say what it waits for.",
  flags: [],
  example: "CROCHET_PROMPT_TYPE=question CROCHET_PROMPT_MESSAGE='Which one?' crochet agent prompt fixer",
};

const prompt = command(PROMPT, async ({ words: [id] }, io) => {
  const start = isAgentId(id) && readEvents(logOf(agentsDir(io.env), id)).findLast((event) => event.type === "start");
  if (!start || start.workspace === undefined) {
    throw new UsageError(`Unknown agent '${id}': 'crochet agent settings <id>' starts watching one`);
  }
  const cwd = start.workspace;
  const hooks = new HookRegistry().registerSource(async () => (await hooksHere(cwd, {}, io)).records);
  await hooks.load();
  const { CROCHET_PROMPT_TYPE: prompt_type = "question", CROCHET_PROMPT_MESSAGE: message = "" } = io.env;
  const asked = { prompt_type, message } as EventFields["agent-prompt"];
  const context = { session_id: id!, cwd, exec, files: hookFiles, signal: io.signal };
  await hooks.fire({ event: "agent-prompt", ...asked }, context);
  return EXIT.ok;
});

const HOOK: Usage = {
  name: "agent hook",
  words: "<event> <id>",
  about: "Logs an event of a watched agent: its JSON on stdin, nothing on stdout, exit code 0 whatever happens. " +
    "Events: pretooluse, posttooluse, userpromptsubmit, notification, stop, sessionend.",
  flags: [],
  example: `echo '{"tool_name":"ExitPlanMode"}' | crochet agent hook pretooluse fixer`,
};

const hook = command(HOOK, async ({ words }, io) => {
  await noteEvent(words, io.env);
  return EXIT.ok;
});

/** Watching agents of Claude Code; `crochet agents` shows them all. */
export default group("agent", {
  settings: ["write a settings file for a watched agent and print its path", async () => ({ default: settings })],
  prompt: ["fire the agent-prompt hooks of a watched agent's project", async () => ({ default: prompt }), "programs"],
  hook: [
    "log an event of the agent from stdin; called by that settings file",
    async () => ({ default: hook }),
    "programs",
  ],
}, { example: `claude --settings "$(crochet agent settings fixer | tail -n 1)"` });

/** The tools that wait for a person (S2.9). */
const PROMPT_TOOLS = "ExitPlanMode|AskUserQuestion|EnterPlanMode";

/** The hooks of a watched agent, by event: what each is noted as, and for which tools. */
const WATCHED: readonly (readonly [event: string, name: string, matcher?: string])[] = [
  ["Stop", "stop"],
  ["Notification", "notification"],
  ["PreToolUse", "pretooluse", PROMPT_TOOLS],
  ["PostToolUse", "posttooluse", PROMPT_TOOLS],
  ["PostToolUseFailure", "posttooluse", PROMPT_TOOLS],
  ["UserPromptSubmit", "userpromptsubmit"],
  ["SessionEnd", "sessionend"],
];

/**
 * Writes the settings file of an agent into the state directory and returns its path (S2.15): those of the workspace,
 * comments and all, with our hooks after the user's (S2.2, S2.10).
 *
 * @throws {TypeError} that names the file, if its hooks cannot be kept
 */
async function prepareSettings(dir: string, id: string, workspace: string, bin: string): Promise<string> {
  const file = join(workspace, ".claude", "settings.json");
  const entries = WATCHED.map(([event, name, matcher]) => ({
    ...{ event, matcher, hook: { type: "command", command: `${bin} agent hook ${name} ${id}` } as const },
  }));
  const text = await withEntries(existsSync(file) ? readFileSync(file, "utf8") : "", entries).catch((error: Error) => {
    throw new TypeError(
      error.message.replace(/^Cannot change (?:the settings|it) as/, `Cannot keep the hooks of ${file} as`),
    );
  });
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const path = join(dir, `${id}.settings.json`);
  writeWhole(path, text, { mode: 0o600 });
  return path;
}

/** What to do when an agent begins to wait, as given in a flag; the default is to escalate (S2.14). */
function readOnPrompt(given: string | boolean | undefined): OnPrompt | undefined {
  if (typeof given !== "string") return undefined;
  return given === "escalate" || given === "none" ? given : { command: given };
}
