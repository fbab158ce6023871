import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { parsed } from "../core/json.ts";
import type { Environment } from "./file/user-places.ts";

export interface CodexHook {
  readonly command: string;
  readonly sourcePath: string;
  /** `trusted` and `managed` ones run. */
  readonly trustStatus: string;
}

const PATIENCE_MS = 10_000;

/**
 * Asks Codex for the hooks that it knows in a folder: only Codex knows which hooks a person has trusted.
 *
 * @throws {Error} if it does not answer
 */
export async function codexHooks(program: string, cwd: string, env: Environment): Promise<CodexHook[]> {
  const server = spawn(program, ["app-server"], { cwd, env, stdio: ["pipe", "pipe", "ignore"] });
  const timer = setTimeout(() => server.kill("SIGKILL"), PATIENCE_MS);
  try {
    server.stdin.on("error", () => {});
    const started = new Promise((_, reject) => server.on("error", reject));
    const clientInfo = { name: "crochet", version: "1" };
    const messages = [
      { id: 0, method: "initialize", params: { clientInfo } },
      { method: "initialized" },
      { id: 1, method: "hooks/list", params: { cwds: [cwd] } },
    ];
    server.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
    return await Promise.race([listIn(server.stdout), started as Promise<never>]);
  } finally {
    clearTimeout(timer);
    server.kill("SIGKILL");
  }
}

interface Listed {
  readonly id?: number;
  readonly error?: { readonly message?: string };
  readonly result?: { readonly data?: readonly { readonly hooks?: readonly CodexHook[] }[] };
}

async function listIn(stdout: NodeJS.ReadableStream): Promise<CodexHook[]> {
  for await (const line of createInterface({ input: stdout })) {
    const { id, error, result } = (parsed(line) ?? {}) as Listed;
    if (id !== 1) continue;
    if (!result?.data) throw new Error(error?.message ?? "its answer is not a list of hooks");
    return result.data.flatMap(({ hooks = [] }) => hooks);
  }
  throw new Error("it gave no answer");
}
