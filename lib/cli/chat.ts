import { resolve } from "node:path";
import type { Agent } from "../agent.ts";
import { command, type Usage } from "./_flags.ts";
import { UsageError } from "./_io.ts";
import { ASKING, RUN_FLAGS, runOptions } from "./_run-options.ts";
import { builtIn, loadAgent, scriptAndWords } from "./_script.ts";
import { hasPerson } from "./chat/terminal.ts";

const USAGE: Usage = {
  name: "chat",
  words: "[agent.ts] [prompt…]",
  about:
    `Talks with an agent: the script's default export, or the built-in coding agent. Esc interrupts, /help tells the rest. ${ASKING}`,
  flags: [...RUN_FLAGS, ["--debug", "show where an error came from"]],
  example: "crochet chat",
};

export default command(USAGE, async ({ words, flags, args }, io) => {
  const { script, words: prompt } = scriptAndWords(words, args, io);
  if (!hasPerson(io.tty, io.env)) {
    const one = script === undefined ? "" : `${words[0]} `;
    throw new UsageError(`Cannot chat as this is no terminal: use crochet run ${one}"what to do"`);
  }
  const agent: Agent = script === undefined ? await builtIn() : await loadAgent(script);
  const { options, watched } = await runOptions({ flags, io, script: script !== undefined }, agent);
  const { Conversation } = await import("./chat/conversation.ts");
  const cwd = options.cwd ?? resolve(io.cwd);
  return await new Conversation(watched, options, { io, cwd }).hold(prompt.join(" ").trim());
});
