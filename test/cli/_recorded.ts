import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ScriptedReply, scriptedServer } from "../../lib/testing/index.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MAIN = join(ROOT, "lib/cli/main.ts");
export const RUN = "Deno" in globalThis
  ? [process.execPath, "run", "-A", "--no-check", "-q", `--config=${ROOT}/deno.json`, MAIN]
  : ["bun", "run", MAIN];

/** For tests that start a process for each command: on a busy machine one takes seconds. */
export const LONG = { timeout: 240_000 };

/** Calls crochet in a process of its own. */
export function crochet(
  cwd: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number; out: string; err: string }> {
  const { CI: _, CROCHET_MODEL: __, ...rest } = process.env;
  const [command, ...before] = RUN;
  return new Promise((resolve, reject) => {
    const child = spawn(command!, [...before, ...args], {
      cwd,
      env: { ...rest, ANTHROPIC_API_KEY: "", NO_COLOR: "1", ...env },
    });
    let [out, err] = ["", ""];
    child.stdout.on("data", (data) => out += data);
    child.stderr.on("data", (data) => err += data);
    child.on("error", reject).on("close", (code) => resolve({ code: code ?? 1, out, err }));
  });
}

export function put(folder: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

export const agentScript = (system: string) => `
import { agent } from "${ROOT}lib/index.ts";
import { Bash, Edit, Read } from "${ROOT}lib/tools/index.ts";
export default agent({ from: import.meta.url, system: ${
  JSON.stringify(system)
}, tools: [Read, Edit, Bash], hooks: "./hooks" });
`;
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

/** A project of a stranger, with a recorded run. */
export async function recorded(folder: string, args: readonly string[] = []): Promise<string> {
  put(folder, { "agent.ts": agentScript(SYSTEM), "hooks/stop.ts": HOOK, "tea.md": "over teh leaves\n" });
  await using server = await scriptedServer(REPLIES);
  const env = { ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "not-a-key" };
  const { code, out, err } = await crochet(folder, ["record", "agent.ts", "fix", "the", "typo", ...args], env);
  assert.deepEqual([code, err], [0, ""]);
  server.done();
  return out;
}
