/** What several benchmarks need to measure with. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A file of this folder. */
export const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));

export function median(list: readonly number[]): number {
  return list.toSorted((a, b) => a - b)[list.length >> 1] ?? NaN;
}

/** Starts `server.ts`; kill it when all is measured. */
export async function startServer(): Promise<{ server: ChildProcess; url: string }> {
  const server = spawn(process.execPath, [here("server.ts")], { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = await once(server.stdout!, "data");
  return { server, url: `http://127.0.0.1:${String(port).trim()}` };
}
