import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ScriptedReply, type ScriptedServer, scriptedServer } from "../../lib/testing/index.ts";
import type { Place } from "../_place.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** For tests that start a process for each command: on a busy machine one takes seconds. */
export const LONG = { timeout: 240_000 };

export const agentScript = (system: string) => `
import { agent } from "${join(ROOT, "lib/index.ts")}";
import { Bash, Edit, Read } from "${join(ROOT, "lib/tools/index.ts")}";
export default agent({ from: import.meta.url, system: ${
  JSON.stringify(system)
}, tools: [Read, Edit, Bash], hooks: "./hooks",
  permissions: { mode: "bypassPermissions" } });
`;
/** Put behind it, the agent is also a script that is run by itself. */
export const MAIN = 'import { default as self } from "./agent.ts";\nif (import.meta.main) await self.main();\n';
export const HOOK = `export default () => undefined;\n`;
export const SYSTEM = "You fix typos.\nYou are brief.\nYou test what you did.";
const REPLIES: ScriptedReply[] = [
  { text: "I read it.", tools: [{ name: "Read", input: { file_path: "tea.md" } }] },
  {
    text: "I fix it.",
    tools: [{ name: "Edit", input: { file_path: "tea.md", old_string: "teh", new_string: "the" } }],
  },
  { text: "I look.", tools: [{ name: "Bash", input: { command: "cat tea.md; pwd", description: "Look" } }] },
  { text: "Fixed." },
];

/** The environment in which a scripted server is the model. */
export function asked(server: ScriptedServer): Record<string, string> {
  return { ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "not-a-key" };
}

/** Records a run in the project of a stranger; what was said of it. */
export async function recorded(here: Place, args: readonly string[] = []): Promise<string> {
  here.put({ "agent.ts": agentScript(SYSTEM), "hooks/stop.ts": HOOK, "tea.md": "over teh leaves\n" });
  await using server = await scriptedServer(REPLIES);
  const { code, out, err } = await here.crochet(["record", "agent.ts", "fix", "the", "typo", ...args], asked(server));
  assert.deepEqual([code, err], [0, ""]);
  server.done();
  return out;
}
