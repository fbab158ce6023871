import { chmodSync, cpSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import attack from "../../../lib/extensions/attack/command.ts";
import type { Exit } from "../../_crochet.ts";
import { testData } from "../../_data.ts";
import { type Place, place } from "../../_place.ts";

export const FILES: Readonly<Record<string, string>> = {
  "notes.txt": "nothing yet\n",
  ".env": "PORT=8080\n",
  "package.json": '{ "name": "sample", "scripts": { "test": "exit 0" } }\n',
  "package-lock.json": '{ "lockfileVersion": 3 }\n',
  "src/app.js": 'console.log("hello");\n',
};

export const ALL_TOOLS: readonly string[] = ["Bash", "Read", "Write", "Edit", "Grep"];

/** A script of an agent with these tools, rules and the hooks beside it. */
export function agentScript(tools: readonly string[] = ALL_TOOLS, options: object = {}): string {
  return `import { agent } from "crochet";
import { ${tools.join(", ")} } from "crochet/tools";
export default agent({ from: import.meta.url, tools: [${tools.join(", ")}], ...${JSON.stringify(options)} });
`;
}

/** A project whose agent nothing guards but these hooks. */
export function guarded(hooks: Readonly<Record<string, string>> = {}, script: string = agentScript()): Place {
  const named = Object.entries(hooks).map(([name, text]) => [`hooks/${name}`, text]);
  return place({ ...FILES, "agent.ts": script, ...Object.fromEntries(named) });
}

/** A guard of test/data, with what its case says. */
export function guardOfData(name: string): { here: Place; never: string; sound: boolean } {
  const folder = testData(`guards/${name}`);
  const { never, sound = false, tools } = JSON.parse(readFileSync(join(folder, "case.json"), "utf8"));
  const here = guarded({}, agentScript(tools));
  cpSync(join(folder, "hooks"), join(here.cwd, "hooks"), { recursive: true });
  for (const hook of readdirSync(join(here.cwd, "hooks"))) chmodSync(join(here.cwd, "hooks", hook), 0o755);
  return { here, never, sound };
}

/** Attacks in this process, as the command does. */
export function attackIn(here: Place, ...args: readonly string[]): Promise<Exit> {
  const script = existsSync(join(here.cwd, "agent.ts")) ? ["agent.ts"] : [];
  return here.call(attack, ...script, ...args);
}

/** Module hooks. */
export const DENY_ALL = `export default () => ({ action: "deny", reason: "No" });\n`;
export const NO_ENV =
  `export default ({ input }) => JSON.stringify(input).includes(".env") ? { action: "deny", reason: "Not .env" } : undefined;\n`;
