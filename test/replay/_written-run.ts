import { agent } from "../../lib/agent/agent.ts";
import { Edit, Write } from "../../lib/tools/index.ts";
import { type Taped, taped } from "./_taped.ts";

const options = { system: "You write.", tools: [Write, Edit] };

/** The agent of a run on which faults fall. */
export const writer = agent(options);

/** A run of it in three calls: thinking and a write, two writes at once, and a text. */
export function writtenRun(): Promise<Taped> {
  return taped({
    options,
    replies: [
      {
        thinking: "First the file.",
        text: "I will write it.",
        tools: [{ name: "Write", input: { file_path: "a.txt", content: "hello world\n" } }],
      },
      {
        tools: [
          { name: "Edit", input: { file_path: "a.txt", old_string: "world", new_string: "there" } },
          { name: "Write", input: { file_path: "b.txt", content: "b" } },
        ],
      },
      { text: "It is written." },
    ],
  });
}
