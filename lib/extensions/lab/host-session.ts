/** Holds one session of a host with a scripted model: started by `room.ts`, inside the sandbox if there is one. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { writeFiles } from "../../files/tree.ts";
import type { HostName } from "../../hooks/hosts/index.ts";
import { commandLine, processIds } from "../../process/owner.ts";
import { type ProcessOptions, type ProcessResult, runProcess } from "../../process/process.ts";
import { LAB_HOSTS } from "./hosts.ts";
import { type ReceivedRequest, scriptedModel } from "./lab-model.ts";
import { modelOf, type Script } from "./script.ts";

/** What a session gets; its files are below one folder. */
export interface SessionPlan {
  readonly host: HostName;
  readonly event: string;
  readonly program: string;
  readonly script: Script;
  readonly project: string;
  readonly home: string;
  readonly log: string;
  readonly env: { readonly [name: string]: string };
  readonly timeout: number;
  /** Whether it has the processes of its own sandbox alone. */
  readonly confined: boolean;
}

export interface SessionEnd {
  readonly asked: readonly ReceivedRequest[];
  /** Whether the host did not offer the tool that was to be called. */
  readonly lacks: boolean;
  readonly ran: Pick<ProcessResult, "code" | "signal" | "ended" | "stderr">;
  readonly ms: number;
  /** The command lines of processes that were still there. */
  readonly alive: readonly string[];
}

/** How long an agent that serves has to be idle before its session is over: a Stop hook may send it back until then. */
const IDLE_MS = 4000;

async function hold(plan: SessionPlan): Promise<SessionEnd> {
  const { host, program, project, home, log, timeout, script, event } = plan;
  const { api, start, serves } = LAB_HOSTS[host]!;
  const { next, lacks } = modelOf(script);
  await using model = await scriptedModel(api, next);
  const { calls, files = {}, env } = start({ ...script, event, project, home, url: model.url });
  writeFiles("/", Object.entries(files));
  const began = performance.now();
  let ran: SessionEnd["ran"] = { code: 0, signal: null, stderr: "" };
  for (const args of calls) {
    const options = { command: program, args, cwd: project, env: { ...plan.env, ...env }, timeout };
    const ended = await (serves
      ? serving(options, script.prompt, log, () => model.asked().length)
      : runProcess(options));
    writeFileSync(join(log, "host.txt"), `${ended.stdout}\n${ended.stderr}\n`, { flag: "a" });
    ran = { ...ended };
    if (ended.code !== 0) break;
  }
  const ms = Math.round(performance.now() - began);
  return { asked: model.asked(), lacks: lacks(), ran, ms, alive: plan.confined ? await stillAlive() : [] };
}

/** A session with the server of opencode: its `run` ends before the agent can be sent back. */
async function serving(
  options: ProcessOptions,
  prompt: string,
  log: string,
  asked: () => number,
): Promise<ProcessResult> {
  const over = new AbortController();
  const { signal } = over;
  const listens = Promise.withResolvers<string>();
  const onOutput = (_: unknown, text: string) => {
    const [url] = /http:\/\/\S+/.exec(text) ?? [];
    if (url !== undefined) listens.resolve(url);
  };
  const ran = runProcess({ ...options, signal, onOutput });
  const talk = async () => {
    const url = await listens.promise;
    const headers = { "content-type": "application/json" };
    const post = async (to: string, body: object) => {
      const response = await fetch(`${url}${to}`, { method: "POST", headers, body: JSON.stringify(body), signal });
      return await response.json() as { readonly id: string };
    };
    const { id } = await post("/session", {});
    await post(`/session/${id}/message`, { parts: [{ type: "text", text: prompt }] });
    const open = () => readdirSync(log).filter((name) => /^call-/.test(name) && !existsSync(join(log, name, "code")));
    const sign = () => `${asked()} ${readdirSync(log).length}`;
    for (let idle = 0, last = sign(); idle < IDLE_MS; idle += 200) {
      await sleep(200);
      if (sign() !== last || open().length > 0) [idle, last] = [0, sign()];
    }
  };
  await Promise.race([talk(), ran]);
  over.abort();
  const ended = await ran;
  return ended.ended === "aborted" ? { ...ended, code: 0 } : ended;
}

/** In a sandbox there is nothing but the session: the sandbox's own first process, this one, and what is left. */
async function stillAlive(): Promise<string[]> {
  await sleep(300); // what was asked to end
  return processIds().filter((pid) => pid !== 1 && pid !== process.pid).map(commandLine).filter((line) => line !== "");
}

if (import.meta.main) {
  const plan = JSON.parse(readFileSync(process.argv[2]!, "utf8")) as SessionPlan;
  writeFileSync(join(plan.log, "session.json"), JSON.stringify(await hold(plan)));
  process.exit(0);
}
