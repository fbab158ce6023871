import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Api, scriptedModel } from "../../lib/extensions/lab/lab-model.ts";

/** A model on 127.0.0.1, and everything it was asked. */
export interface ModelServer extends AsyncDisposable {
  readonly url: string;
  readonly asked: () => string;
}

/** A model that removes a folder, says something, and ends: by how many results it has seen. */
async function served(api: Api, shell: string): Promise<ModelServer> {
  const commands = ["rm -rf build", "echo as written"];
  const model = await scriptedModel(api, async ({ results, tools }) => {
    const command = await Promise.resolve(tools.length === 0 ? undefined : commands[results]);
    return command === undefined
      ? { text: "done" }
      : { tools: [{ name: shell, input: { command, description: "a command" } }] };
  });
  return { ...model, asked: () => JSON.stringify(model.asked()) };
}

export const messagesApi = (): Promise<ModelServer> => served("messages", "Bash");
export const chatApi = (shell = "bash"): Promise<ModelServer> => served("chat", shell);

/** A program of a host's package, installed outside the tree; undefined if it cannot be. */
export function hostProgram(folder: string, packages: readonly string[], program: string): string | undefined {
  return installed(folder, packages, `.bin/${program}`);
}

/** A file of packages that are installed outside the tree; undefined if they cannot be. */
export function installed(folder: string, packages: readonly string[], file: string): string | undefined {
  const path = join(folder, "node_modules", file);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  const args = ["install", "--prefix", folder, "--no-audit", "--no-fund", "--no-save", ...packages];
  const { status } = spawnSync("npm", args, { cwd: folder, timeout: 300_000, encoding: "utf8" });
  return status === 0 && existsSync(path) ? path : undefined;
}
