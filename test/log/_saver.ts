import { LIB } from "../_runtime.ts";

const BYPASS = { mode: "bypassPermissions" };

export interface Script {
  readonly system?: string;
  readonly says?: string;
  readonly model?: string;
  /** @default 2 */
  readonly saves?: number;
  /** @default { mode: "bypassPermissions" } */
  readonly permissions?: object;
}

/** An agent that saves some times and says so; its model counts how often it is asked, its tool the keys of what it does. The call that `HANGS` names does not end. */
export function script(
  { system = "You save.", says = "saved", model = "saver", saves = 2, permissions = BYPASS }: Script = {},
): string {
  return `
import { appendFileSync } from "node:fs";
import { agent, tool } from "${LIB}/index.ts";
import { scripted } from "${LIB}/testing/index.ts";

const Save = tool({
  name: "Save",
  description: "Saves.",
  effect: "write",
  input: { type: "object", properties: {} },
  run: async (_, { idempotencyKey, toolUseId, cwd }) => {
    appendFileSync(cwd + "/effects", idempotencyKey + "\\n");
    if (toolUseId === process.env.HANGS) await new Promise((resolve) => setTimeout(resolve, 600_000));
    return "${says} " + (process.env.SHOWN ?? "it");
  },
});
const answer = scripted([], {
  then: ({ messages }) => {
    appendFileSync("asked", "${model}\\n");
    return messages.length < ${1 + 2 * saves}
      ? { text: "again", tools: [{ name: "Save", input: {}, id: "t" + messages.length }] }
      : { text: "${model} has saved ${saves === 2 ? "twice" : `${saves} times`}" };
  },
});
const saver = agent({
  from: import.meta.url, name: "saver", system: ${JSON.stringify(system)}, tools: [Save],
  model: Object.defineProperty((...given) => answer(...given), "name", { value: "${model}" }),
  permissions: ${JSON.stringify(permissions)},
});
export default saver;
if (import.meta.main) await saver.main();
`;
}
