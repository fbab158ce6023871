import { resolve } from "node:path";
import { readOnPrompt, rememberOnPrompt } from "../../monitor/on-prompt.ts";
import { agentsDir, beginLog, isAgentId } from "../../monitor/log.ts";
import { prepareSettings } from "../../monitor/settings.ts";
import { onPromptFor, readConfig } from "../_config.ts";
import { command, type Usage } from "../_flags.ts";
import { EXIT, UsageError } from "../_io.ts";
import { ownCommand } from "../../hooks/installing/own-command.ts";

const USAGE: Usage = {
  name: "agent settings",
  words: "<id>",
  about: "Prepares the settings file of a watched agent and prints its path.",
  flags: [
    ["--workspace <dir>", "the agent's project"],
    ["--on-prompt <what>", "escalate, none or a command; as config.yaml has it where absent"],
  ],
  example: "crochet agent settings fixer",
};

export default command(USAGE, async ({ words: [id], flags }, io) => {
  if (!isAgentId(id)) {
    throw new UsageError(
      `Cannot watch agent '${id ?? ""}' as that is no id: expected letters, digits, '_', '-', '.' or ':'`,
    );
  }
  const dir = agentsDir(io.env);
  const workspace = resolve(io.cwd, String(flags.workspace ?? "."));
  const path = prepareSettings(dir, id, workspace, ownCommand("monitor/note"));
  const onPrompt = readOnPrompt(flags.onPrompt) ?? await onPromptFor(await readConfig(workspace, io), io.env);
  rememberOnPrompt(dir, id, onPrompt, ownCommand("cli/main", "agent", "prompt", id));
  beginLog(dir, id, { type: "start", workspace, at: new Date().toISOString() });
  io.out(`${path}\n`);
  return EXIT.ok;
});
