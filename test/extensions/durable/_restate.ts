/** The engine's server and workers for tests: real processes in a network of their own, ended by their handles. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { arch, platform, tmpdir } from "node:os";
import { join } from "node:path";
import { shellWord } from "../../../lib/core/shown.ts";
import { until } from "../../_until.ts";
import { start, type Started } from "../../_crochet.ts";
import { scratch } from "../../_scratch.ts";
import { command } from "./_kill.ts";

const VERSION = "1.7.12";
const CACHE = process.env.CROCHET_TEST_CACHE ??
  join(tmpdir(), "crochet-test-cache");

/** The server's binary, installed from npm at the first use; a reason where that cannot be. */
function serverBinary(): { path: string } | { missing: string } {
  if (platform() !== "linux") {
    return { missing: "the engine's server is tried on Linux only" };
  }
  const dir = join(CACHE, `restate-server-${VERSION}`);
  const path = join(
    dir,
    `node_modules/@restatedev/restate-server-linux-${arch()}/bin/restate-server`,
  );
  if (existsSync(path)) return { path };
  const fresh = `${dir}.${process.pid}`;
  mkdirSync(fresh, { recursive: true });
  // Its own install script is telemetry.
  const args = [
    "i",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--prefix",
    fresh,
  ];
  spawnSync("npm", [...args, `@restatedev/restate-server@${VERSION}`], {
    timeout: 120_000,
  });
  try {
    renameSync(fresh, dir);
  } catch {
    rmSync(fresh, { recursive: true, force: true }); // another test was faster
  }
  return existsSync(path) ? { path } : { missing: "the engine's server cannot be installed from npm" };
}

/** Why processes cannot have a network of their own here; undefined where they can. */
function noNamespace(): string | undefined {
  const { status } = spawnSync("unshare", [
    "-n",
    "sh",
    "-c",
    "ip link set lo up",
  ]);
  return status === 0 ? undefined : "a network namespace needs root, unshare and ip";
}

/** Tests by what a script of this folder prints, which has a folder, the engine's server, and no network but its own. */
export function onEngine() {
  const why = noNamespace();
  const server = why === undefined ? serverBinary() : { missing: why };
  return {
    options: "missing" in server ? { skip: server.missing } : {},
    async printed(script: string, ...args: readonly string[]): Promise<string> {
      assert.ok("path" in server);
      using folder = scratch();
      const words = [...command(script), folder.path, server.path, ...args].map(shellWord).join(" ");
      const { code, out, err } = await start(["unshare", "-n", "sh", "-c", `ip link set lo up && exec ${words}`]).done;
      assert.equal(code, 0, err);
      return out;
    },
  };
}

export const ADMIN = "http://127.0.0.1:19070";
export const INGRESS = "http://127.0.0.1:18080";

/** Starts the server in a folder, which it finds again when it is started there once more. */
export async function startServer(
  binary: string,
  dir: string,
): Promise<Started> {
  const env = {
    RESTATE_DISABLE_TELEMETRY: "true",
    RESTATE_BIND_IP: "127.0.0.1",
    RESTATE_LISTEN_MODE: "tcp",
    RESTATE_BASE_DIR: join(dir, "restate"),
    RESTATE_INGRESS__BIND_PORT: "18080",
    RESTATE_ADMIN__BIND_PORT: "19070",
    RESTATE_BIND_PORT: "15122",
    RESTATE_DEFAULT_NUM_PARTITIONS: "4",
    RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "256MB",
    RUST_LOG: "error",
  };
  const server = start([binary, "--no-logo"], { env });
  const healthy = (url: string) => fetch(url).then(async (r) => (await r.body?.cancel(), r.ok), () => false);
  await until(
    "the server is healthy",
    async () =>
      await healthy(`${ADMIN}/health`) &&
      await healthy(`${INGRESS}/restate/health`),
  );
  return server;
}

/** Starts a worker of the family, which says when it listens. */
export async function startWorker(
  dir: string,
  port: number,
  ms: number,
): Promise<Started> {
  const worker = start([
    ...command("_restate-worker.ts"),
    dir,
    String(port),
    String(ms),
  ]);
  let ended: string | undefined;
  worker.done.then(({ err }) => ended = err, (error) => ended = error.message);
  await until("the worker listens", () => {
    if (ended !== undefined) throw new Error(`Cannot start a worker: ${ended}`);
    return worker.said.out.includes("listening");
  });
  return worker;
}

/** Drives what a test is about in a process of its own: prints what came of it or why not, and ends all that it started. */
export async function driven(drive: () => Promise<string>, running: readonly Started[]): Promise<never> {
  try {
    process.stdout.write(await drive());
  } catch (error) {
    process.stderr.write(`${(error as Error).stack}\n`);
    process.exitCode = 1;
  } finally {
    for (const one of running.toReversed()) await one.kill();
  }
  process.exit();
}

export async function post<T>(path: string, body: unknown): Promise<T> {
  const response = await fetch(`${INGRESS}/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const words = await response.text();
  if (!response.ok) {
    throw new Error(`Cannot post to ${path}: ${response.status} ${words}`);
  }
  return (words === "" ? undefined : JSON.parse(words)) as T;
}
