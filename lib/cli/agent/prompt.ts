import type { EventFields } from "../../core/events.ts";
import { HookRegistry } from "../../hooks/registry.ts";
import { exec } from "../../hooks/process/exec.ts";
import { agentsDir, isAgentId, readEvents } from "../../monitor/log.ts";
import { command, type Usage } from "../_flags.ts";
import { hooksHere } from "../_hooks-here.ts";
import { EXIT, UsageError } from "../_io.ts";

const USAGE: Usage = {
  name: "agent prompt",
  words: "<id>",
  about: "Fires the agent-prompt hooks of a watched agent's project; started when the agent begins to wait. " +
    "CROCHET_PROMPT_TYPE and CROCHET_PROMPT_MESSAGE say for what.",
  flags: [],
  example: "CROCHET_PROMPT_TYPE=question CROCHET_PROMPT_MESSAGE='Which one?' crochet agent prompt fixer",
};

export default command(USAGE, async ({ words: [id] }, io) => {
  const start = isAgentId(id) && readEvents(agentsDir(io.env), id).findLast((event) => event.type === "start");
  if (!start || start.workspace === undefined) {
    throw new UsageError(`Unknown agent '${id ?? ""}': 'crochet agent settings <id>' begins to watch one`);
  }
  const cwd = start.workspace;
  const hooks = new HookRegistry().registerSource(async () => (await hooksHere(cwd, {}, io)).records);
  await hooks.load();
  const { CROCHET_PROMPT_TYPE: prompt_type = "question", CROCHET_PROMPT_MESSAGE: message = "" } = io.env;
  const asked = { prompt_type, message } as EventFields["agent-prompt"];
  await hooks.fire({ event: "agent-prompt", ...asked }, { session_id: id!, cwd, exec, signal: io.signal });
  return EXIT.ok;
});
