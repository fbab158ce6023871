import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type OnPrompt, onPromptFor, readConfig } from "../../cli/kit/config.ts";
import { hooksHere } from "../../cli/kit/find-hooks.ts";
import { refuseOther } from "../../cli/kit/behind-dashes.ts";
import { command, type Flags, type Usage } from "../../cli/kit/flags.ts";
import { unknownCommand } from "../../cli/kit/group.ts";
import { EXIT, type Io, UsageError } from "../../cli/kit/io.ts";
import type { EventFields } from "../../core/events.ts";
import { writeWhole } from "../../files/drafts.ts";
import { hookFiles } from "../../hooks/hook-files.ts";
import { withEntries } from "../../hooks/install-text.ts";
import { ownCommand } from "../../hooks/own-command.ts";
import { HookRegistry } from "../../hooks/registry.ts";
import { beginLog, readEvents } from "./monitor-log.ts";
import { agentsDir, isAgentId, logOf, noteEvent, onPromptFile } from "./note.ts";
import { exec } from "../../process/process.ts";

const USAGE: Usage = {
  name: "agent",
  words: "<settings | hook | prompt> [event] <id>",
  about:
    "Watches an agent of Claude Code; 'crochet agents' shows them all. 'settings' prepares the settings file of one and " +
    "prints its path. That file calls the others: 'hook' logs an event (pretooluse, posttooluse, userpromptsubmit, " +
    "notification, stop, sessionend), its JSON on stdin, nothing on stdout, exit code 0 whatever happens; 'prompt' fires the " +
    "agent-prompt hooks of its project when it begins to wait, for what CROCHET_PROMPT_TYPE and CROCHET_PROMPT_MESSAGE say.",
  flags: [
    ["--workspace <dir>", "the agent's project"],
    ["--on-prompt <what>", "escalate, none or a command; by default as in config.yaml"],
  ],
  example: `claude --settings "$(crochet agent settings fixer | tail -n 1)"`,
};

const ACTIONS = ["settings", "hook", "prompt"];

export default command(USAGE, async ({ words: [action = "", ...words], flags }, io) => {
  if (!ACTIONS.includes(action)) throw unknownCommand("agent", action, ACTIONS);
  if (action !== "settings") refuseOther(flags, ["workspace", "on-prompt"], `with ${action}: leave it out`);
  if (action === "hook") await noteEvent(words, io.env);
  else await (action === "prompt" ? prompted : settings)(words[0], flags, io);
  return EXIT.ok;
});

async function settings(id: string | undefined, flags: Flags["flags"], io: Io): Promise<void> {
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
}

async function prompted(id: string | undefined, _: Flags["flags"], io: Io): Promise<void> {
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
}

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

/** Writes an agent's settings (S2.15): the workspace's, with our hooks behind (S2.2, S2.10). @throws {TypeError} by file */
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
