import { readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { systemClock } from "../../core/clock.ts";
import { fire } from "../../core/dispatch.ts";
import type { EventName, Fired } from "../../core/events.ts";
import type { HookEnv, HookRecord } from "../../core/hook.ts";
import { loadHook, readHookFile } from "../../hooks/discover.ts";
import { type HookConfig, readHeader } from "../../hooks/file/hook-record.ts";
import { hookEnv } from "../../hooks/hook-env.ts";
import type { HookHost } from "../../hooks/process/hook-host.ts";
import { scripted } from "../../models/scripted.ts";
import type { HookProbe } from "./_child.ts";
import { type Loaded, loadedOf, type Probed, type Question, type RanCommand, type Setup } from "./subject.ts";

/** Fields that the dispatcher sets itself. */
const STAMPED = ["event_id", "timestamp", "session_id", "agent_id", "parent_agent_id", "turn_id"];

/** Loads a hook by the front end it is for, and asks it as the loop would. */
export async function askerFor(setup: Setup): Promise<HookProbe> {
  for (const name of Object.keys(process.env)) if (!Object.hasOwn(setup.env, name)) delete process.env[name];
  Object.assign(process.env, setup.env);
  // A module waits where it would wait anyway: at its files.
  if (setup.env.CROCHET_DELAYS !== undefined) await import(join(setup.place.kept, "delays", "node.cjs"));
  let says = "";
  let asked = 0;
  const model = scripted([], { then: () => ({ text: says }) });
  const record = await load(setup, { model });
  let values = new Map<string, unknown>();
  // An answer of a model is kept for a while: here each question comes an hour after the last.
  const clock = record.kind === "prompt" ? { ...systemClock, now: () => Date.now() + asked * 3_600_000 } : systemClock;

  const ask = async ({ event, limit, says: words = "", keep }: Question): Promise<Probed> => {
    says = words;
    asked++;
    if (!keep) values = new Map();
    const stop = new AbortController();
    let at: "run" | "read" = "run";
    let printed = "";
    const tried: HookRecord = {
      ...record,
      mode: "gate",
      timeout: limit / 1000,
      read: (raw, given) => {
        at = "read";
        if (record.dialect === "definition" && record.kind === "command") printed = (raw as RanCommand).stdout;
        return record.read(raw, given);
      },
    };
    const fired = Object.fromEntries(Object.entries(event).filter(([field]) => !STAMPED.includes(field)));
    const start = performance.now();
    const env = hookEnv({ ...idsOf(event), clock, cwd: setup.place.project, values, signal: stop.signal });
    const folded = await fire([tried], fired as unknown as Fired<EventName>, env);
    const ms = performance.now() - start;
    stop.abort();
    const inputs = folded.inputs.map((input) => input.text);
    const [run] = folded.runs;
    if (run?.skipped !== undefined) return { ms, skipped: run.skipped };
    const { later: _later, ...opinion } = run?.opinion ?? {};
    const late = run?.failure?.startsWith("it took longer than its limit") ?? false;
    return {
      ms,
      opinion: {
        ...opinion,
        ...(folded.contexts.length > 0 && { contexts: folded.contexts }),
        ...(folded.abort && { abort: folded.abort.reason }),
      },
      ...(inputs.length > 0 && { inputs }),
      ...(printed !== "" && { printed }),
      ...(late ? { timedOut: true } : run?.failure !== undefined && { failure: { at, message: run.failure } }),
    };
  };
  const shown = () =>
    values.size > 0
      ? JSON.stringify([...values], (_, v) => v instanceof Map || v instanceof Set ? [...v] : v)
      : undefined;
  return { ask, loaded: await ownWords(record, setup), values: shown };
}

/** What a hook says about itself. Only its own process runs a module, so its examples come from here too. */
async function ownWords(record: HookRecord, { target }: Setup): Promise<Loaded> {
  if (target.type !== "file") return loadedOf(record);
  const loaded = loadedOf(record, await configOf(record, target.path));
  if (record.kind !== "module") return loaded;
  const { readExamples } = await import("./examples/example.ts");
  const examples = await readExamples(readHookFile(target.path, target.event));
  return examples.length > 0 ? { ...loaded, examples } : loaded;
}

/** What a record does not carry of its file's config. */
async function configOf({ kind }: HookRecord, path: string): Promise<HookConfig> {
  if (kind === "module") return (await import(realpathSync(path))).config ?? {};
  const text = readFileSync(path, "utf8");
  if (kind !== "prompt") return readHeader(text);
  const { fields } = await (await import("../../hooks/prompt-hook.ts")).readPromptFile(text, path);
  return { ...fields, ...readHeader(text) };
}

/** Who is said to ask, as far as an event does not say it itself. */
function idsOf({ session_id = "check", agent_id = session_id, turn_id = "check:turn", ...event }: Question["event"]) {
  const { parent_agent_id, agent_type } = event;
  return { session_id, agent_id, parent_agent_id, agent_type, turn_id } as Pick<HookEnv, "session_id" | "agent_id">;
}

async function load(
  { target, place, env }: Setup,
  prompt: { model: ReturnType<typeof scripted> },
): Promise<HookRecord> {
  const host: HookHost = { projectDir: place.project, env, keepEnv: Object.keys(env), outputDir: () => place.kept };
  switch (target.type) {
    case "file": {
      const file = readHookFile(target.path, target.event);
      const folder = { root: dirname(file.path), shared: "", sharedFiles: [] };
      return await loadHook(file, { folder, source: target.path, host, prompt });
    }
    case "definition": {
      const { recordsIn } = await import("./find-settings.ts");
      const records = await recordsIn(target.path, place.project, { host, by: prompt, onProblem: () => {} });
      return records.find(({ name }) => name === target.name)!;
    }
    case "command":
      throw new TypeError("Cannot load a command: it is run directly");
  }
}
