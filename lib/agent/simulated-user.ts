import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { price } from "../models/anthropic/prices.ts";
import { assistant, textOf, user } from "../core/messages.ts";
import { readReply } from "../core/reply.ts";
import { HOOK_MODEL, readPromptFile } from "../hooks/prompt-hook.ts";
import { jsonInText } from "../hooks/read-answer.ts";
import { optionFault } from "../input/options.ts";
import { type SimulatedUser, USER_FILE } from "../replay/run-on-tape.ts";
import { modelOf } from "./named-model.ts";

/** Before the persona; cannot be configured. */
const RULES = [
  "You play a person who talks with an agent. Below is who this person is and what they want. You see only what the agent",
  "says, never what it does. Say what this person would say next, in their words; never speak as the agent.",
  'Respond with JSON only: {"says": "what you say to the agent", "ends": false}.',
  'Once the person has what they want, or gives up, respond with {"says": "", "ends": true}.',
].join("\n");

const BEGIN = "The conversation begins: speak first.";
const TURNS = 10;
const MAX_TOKENS = 1024;

/**
 * Reads a `*.prompt.md`: persona and goal, with `model` and `turns` in its front matter.
 *
 * @throws {Error} that names the file and what is wrong with it
 */
export async function readUser(path: string): Promise<SimulatedUser> {
  const name = basename(path);
  const refuse = (why: string) => new Error(`Cannot read ${name} as ${why}`);
  if (!existsSync(path)) throw refuse("there is no such file");
  const text = readFileSync(path, "utf8");
  const { fields, template } = await readPromptFile(text, name);
  const fault = optionFault(fields, { model: "a text", turns: "any" });
  if (fault) throw refuse(`in its front matter ${fault.why}`);
  const { model: named = HOOK_MODEL, turns = TURNS } = fields as { model?: string; turns?: number };
  if (!Number.isInteger(turns) || turns < 1) throw refuse("'turns' is not a whole number from 1");
  if (template.trim() === "") throw refuse("it says nothing of the person: write who it is, and what it wants");
  const system = `${RULES}\n\n${template.trim()}`;
  return {
    ...{ model: modelOf(named, true).model, modelName: named, turns, text },
    next: async (said, heard, ask, signal, spent) => {
      const messages = [
        user(BEGIN),
        ...said.flatMap((says, i) => [assistant(JSON.stringify({ says, ends: false })), user(heard[i]!)]),
      ];
      for (let attempt = 0; attempt < 2; attempt++) {
        const request = { model: named, system, messages, tools: [], max_tokens: MAX_TOKENS };
        const reply = await readReply(ask(request, signal), () => {});
        spent({ type: "usage", usage: reply.usage, model: named, cost: price(named, reply.usage) });
        const [answer] = jsonInText(textOf(reply.message), ({ says, ends }) => ends === true || says !== undefined);
        if (answer?.ends === true && said.length > 0) return undefined;
        if (typeof answer?.says === "string" && answer.says.trim() !== "") return answer.says;
      }
      throw new Error(`Cannot go on as the simulated user gave no answer twice: make ${name} clearer`);
    },
  };
}

/** The simulated user of a fixture; undefined if there is no such file. */
export async function userBeside(folder: string): Promise<SimulatedUser | undefined> {
  const path = join(folder, USER_FILE);
  return existsSync(path) ? await readUser(path) : undefined;
}
