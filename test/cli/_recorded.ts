import assert from "node:assert/strict";
import { type ScriptedServer, scriptedServer } from "../../lib/testing/index.ts";
import type { Place } from "../_place.ts";
import { FIXES, SYSTEM, TEA } from "../_record.ts";
import { LIB } from "../_runtime.ts";

export const agentScript = (system: string) => `
import { agent } from "${LIB}/index.ts";
import { Bash, Edit, Read } from "${LIB}/tools/index.ts";
export default agent({ from: import.meta.url, system: ${
  JSON.stringify(system)
}, tools: [Read, Edit, Bash], hooks: "./hooks",
  permissions: { mode: "bypassPermissions" } });
`;
/** Such an agent with a model of its own: what the environment names is kept by a process from its first run on. */
export const agentOn = (server: ScriptedServer, system: string) =>
  agentScript(system).replace("{ agent }", "{ agent, anthropic }").replace(
    "system:",
    `model: anthropic({ baseURL: "${server.url}", apiKey: "not-a-key" }), system:`,
  );
export const HOOK = `export default () => undefined;\n`;
/** The environment in which a scripted server is the model. */
export function asked(server: ScriptedServer): Record<string, string> {
  return { ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "not-a-key" };
}

/** Records a run in the project of a stranger; what was said of it. */
export async function recorded(here: Place, args: readonly string[] = []): Promise<string> {
  here.put({ "agent.ts": agentScript(SYSTEM), "hooks/stop.ts": HOOK, ...TEA });
  await using server = await scriptedServer(FIXES);
  const { code, out, err } = await here.main(["record", "agent.ts", "fix", "the", "typo", ...args], asked(server));
  const expected = /^ {2}Cannot replay as fixtures\/invariants\.ts is not trusted: .*\n|^runs it once more, .*\n/gm;
  assert.deepEqual([code, err.replaceAll(expected, "")], [0, ""]);
  server.done();
  return out;
}
