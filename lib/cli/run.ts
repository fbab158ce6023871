import { command } from "./kit/flags.ts";
import { UsageError } from "./kit/io.ts";
import { builtIn, loadAgent, scriptAndWords } from "./kit/script.ts";
import { promptFor, runPrompt, USAGE } from "./run-agent.ts";

export default command(USAGE, async ({ words, flags, args }, io) => {
  const { script, words: said } = scriptAndWords(words, args, io);
  const call = { flags, io, script: script !== undefined };
  const prompt = await promptFor(said, call);
  if (prompt === undefined) {
    throw new UsageError(`Cannot run an agent as there is no prompt: ${USAGE.example}`);
  }
  const agent = script === undefined ? await builtIn() : await loadAgent(script, io);
  return await runPrompt(agent, prompt, call);
});
