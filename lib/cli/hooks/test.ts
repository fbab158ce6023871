import { mkdirSync, mkdtempSync, readFileSync, realpathSync, statSync } from "node:fs";
import { watch } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fire } from "../../core/dispatch.ts";
import type { AnyEvent, EventName, Fired } from "../../core/events.ts";
import type { HookEnv, HookRecord } from "../../core/hook.ts";
import { isObject, parsed } from "../../core/json.ts";
import { ownEvent } from "../../core/names.ts";
import { absolute } from "../../files/confine.ts";
import { refusalOf } from "../../files/drafts.ts";
import { plainFields } from "../../hooks/event-fields.ts";
import { type HookFile, loadHook, loadMessage, readHookFile } from "../../hooks/discover.ts";
import { claude } from "../../hooks/hosts/claude.ts";
import { ourEvents } from "../../hooks/hosts/read-event.ts";
import { hookEnv } from "../../hooks/hook-env.ts";
import { isOfOthers, nearField } from "../../hooks/known-names.ts";
import type { HookHost } from "../../hooks/process/hook-host.ts";
import { type WireFacts, wireInput } from "../../hooks/process/wire.ts";
import { sampleEvent } from "../../hooks/samples.ts";
import { type FiredHook, type FiredIn, type Firing, giftOf } from "../kit/extension.ts";
import { expectGiven } from "../kit/run-gifts.ts";
import type { Flags, Usage } from "../kit/flags.ts";
import { type Io, UsageError } from "../kit/io.ts";
import { judgingCommand } from "../kit/judge.ts";
import { sayRun } from "../kit/hook-ledger.ts";
import { stdinText } from "../_hook-command.ts";
import type { Item } from "../kit/verdict.ts";
import { modelSees } from "./_model-sees.ts";
import { removeTree } from "../../files/tree.ts";

/** Of a test in real hosts. */
const IN_FLAGS: Usage["flags"] = [
  ["--in <hosts>", "fire it in these hosts: claude,codex@0.166.0,gemini@newest"],
  ["--install", "let npm install versions that are not in the cache"],
  ["--as <form>", "how the hook is installed, as in hooks install: plugin, mod"],
  ["--timeout <seconds>", "time for one session of a host (120)"],
  ["--keep <dir>", "keep the folders of all sessions of hosts there"],
];

const USAGE: Usage = {
  name: "hooks test",
  words: "<file | folder | settings.json>…",
  about: "Fires one hook, or each of Claude Code's settings, with a typical event, and shows what it got and what it " +
    "answered; with --in, in real hosts.",
  flags: [
    ["--event <name>", "the event, if the file's name does not say it: stop, pre-tool-use@Bash"],
    ["--input <file>", "the event's JSON, or a part of it; - reads it from stdin"],
    ["--set <path=value>", "change one field; can be repeated: tool_input.command='rm -rf /'"],
    ["--watch", "fire it again whenever a file beside it changes"],
    ...IN_FLAGS,
  ],
  excludes: [["in", ["watch"], "a host is started for each event"]],
  example: `crochet hooks test hooks/stop.tests-pass.ts`,
};

type Json = { [field: string]: unknown };

/** A hook that does not load or fails is broken; no answer counts as a failure. */
export default judgingCommand(USAGE, "test", async ({ words, flags, args }, io, judge) => {
  // Of a flag that is repeated, `flags` has only the last value.
  const sets = args.flatMap((arg, i) => arg === "--set" ? args[i + 1]! : /^--set=(.*)$/s.exec(arg)?.[1] ?? []);
  const { cwd } = io;
  using found = await subjectsOf(words, cwd, io);
  const { subjects, left } = found;
  // An item is what could be tested.
  const items = left.flatMap(({ name, never }) => never ? [] : name);
  const [first] = subjects;
  const isMany = subjects.length !== 1 || first!.name !== undefined ||
    statSync(first!.path, { throwIfNoEntry: false })?.isDirectory();
  // Of many hooks, those of no call are fired without what is set of the call, and others without what theirs cannot have.
  const setsFor = ({ on, tools }: HookFile) =>
    !isMany ? sets : sets.filter((set) => {
      if (plainFields(on.event)) return !/^tool_/.test(set);
      const [, field] = /^tool_input\.([^.=]+)/.exec(set) ?? [];
      return field === undefined || !isOfOthers(field, tools);
    });
  const fire: Firing["fire"] = (file, at) => firedAt(file, at, flags, setsFor(file), io);
  const settleLeft = () => {
    for (const { name, why, never } of left) {
      io.out(`– ${name}: ${never ? "left out: " : ""}${why}\n`);
      if (!never) judge.settle({ name, word: "not measured", why });
    }
  };
  if (flags.in !== undefined) {
    const testIn = expectGiven(await giftOf("testIn"), "--in");
    judge.plan(...items);
    settleLeft();
    await testIn({
      ...{ subjects, flags, io, judge, fire, isSet: (file) => setsFor(file).length > 0 || flags.input !== undefined },
      read: (file) => hookFile(file, flags.event),
      install: async (args, quiet) => await (await import("./install.ts")).install.default(args, quiet),
    });
    return { left };
  }
  const alone = IN_FLAGS.find(([flag]) => flags[/\w+/.exec(flag)![0]] !== undefined)?.[0];
  if (alone !== undefined) {
    throw new UsageError(`Cannot use ${alone} without --in: name hosts, as in --in claude,codex`);
  }
  if (words.length !== 1) {
    throw new UsageError(`Cannot fire ${words.length} hooks: name one file, or hosts with --in`);
  }
  if (flags.watch) {
    if (isSettings(words[0]!)) throw new UsageError(`Cannot watch ${words[0]}: name one hook file`);
    const { path } = first!;
    return await fireAgain(path, () => fireOnce(hookFile(path, flags.event), fire, cwd, io), io);
  }
  const files = subjects.map(({ path, name }) => ({ name, file: hookFile(path, flags.event) }));
  judge.plan(...files.map(({ file, name = file.name }) => name), ...items);
  for (const { file, name } of files) judge.settle(await fireOnce(file, fire, cwd, io, name));
  settleLeft();
  return { left };
});

const isSettings = (path: string) => path.endsWith(".json");

interface Subjects extends Disposable {
  /** Paths that were typed, and hooks of settings that were: each as the script that it is imported as. */
  readonly subjects: Firing["subjects"];
  /** Hooks of settings that are not fired; `never`: no command could be. */
  readonly left: readonly { readonly name: string; readonly why: string; readonly never?: true }[];
}

async function subjectsOf(words: readonly string[], cwd: string, io: Io): Promise<Subjects> {
  const subjects: Firing["subjects"][number][] = [];
  const left: Subjects["left"][number][] = [];
  const folders: string[] = [];
  for (const path of words.map((word) => resolve(io.cwd, word))) {
    if (!isSettings(path)) {
      subjects.push({ path });
      continue;
    }
    const { entriesOf } = await import("./import.ts");
    const { writeImported } = await import("../../hooks/import-settings.ts");
    const { entries, shown } = await entriesOf(path, cwd, io, "test");
    folders.push(realpathSync(mkdtempSync(join(tmpdir(), "crochet-settings-"))));
    for (const [i, entry] of entries.entries()) {
      const folder = join(folders.at(-1)!, String(i), "hooks");
      mkdirSync(folder, { recursive: true });
      const [written] = writeImported([entry], folder);
      if (written) subjects.push({ path: written.path, name: `${shown}#${i} ${written.file}` });
      if ("why" in entry) left.push({ ...entry, name: `${shown}#${i} ${entry.at}` });
    }
  }
  const drop = () => folders.forEach((folder) => removeTree(folder));
  return { subjects, left, [Symbol.dispose]: drop };
}

/** Fires the hook at each change until the user has seen enough. What goes wrong is shown: the next change may correct it. */
async function fireAgain(path: string, once: () => Promise<Item>, io: Io): Promise<number> {
  const changes = watch(dirname(resolve(io.cwd, path)), { signal: io.signal });
  const again = async () => {
    await once().catch((error: Error) => io.err(`crochet: ${error.message}\n`));
    io.out("\n");
  };
  await again();
  try {
    let last = 0;
    for await (const _ of changes) {
      // An editor changes several files at once.
      if (Date.now() - last < 100) continue;
      await new Promise((resolve) => setTimeout(resolve, 50));
      await again();
      last = Date.now();
    }
  } catch (error) {
    if (!io.signal.aborted) throw error;
  }
  return 0;
}

async function firedAt(
  file: HookFile,
  { cwd, usual, prepare }: FiredIn,
  { input }: Flags["flags"],
  sets: readonly string[],
  io: Io,
): Promise<FiredHook> {
  const given = { ...usual, ...input === undefined ? {} : await readInput(String(input), io) };
  const facts: { now: WireFacts } = { now: {} };
  const record = await load(file, cwd, io, { projectDir: cwd, env: io.env, wire: () => facts.now });
  const { fired, stdin } = eventFor(file, record, cwd, given, sets, facts);
  prepare?.(stdin);
  const folded = await fire([{ ...record, mode: "gate" }], { ...fired }, envOf(cwd, io, stdin));
  return { record, fired, stdin, folded };
}

async function fireOnce(file: HookFile, fire: Firing["fire"], cwd: string, io: Io, name = file.name): Promise<Item> {
  const came = await fire(file, { cwd }).catch((error) => {
    if (error instanceof NotLoaded) return error;
    throw error;
  });
  if (came instanceof Error) {
    io.err(`crochet: ${came.message}\n`);
    return { name, word: "broken", why: came.message };
  }
  const { record, fired, stdin, folded } = came;
  const [run] = folded.runs;
  const sees = run && run.skipped === undefined ? await modelSees(record, fired, folded) : [];
  const { decision, warnings, systemMessages } = folded;
  const data = { hook: record.name, event: fired.event, stdin, run, decision, sees, warnings, systemMessages };
  const lines = [
    `hook     ${name} (${record.kind}) on ${fired.event}`,
    `stdin    ${JSON.stringify(stdin)}`,
    `verdict  ${run ? sayRun(run).trim() : "not asked: it does not listen to this event"}`,
    ...(run?.opinion?.value ? [`         changed to ${JSON.stringify(run.opinion.value.to)}`] : []),
    ...(run?.ms === undefined ? [] : [`time     ${run.ms.toFixed(1)} ms`]),
    ...systemMessages.map(({ text }) => `person   ${text}`),
    ...warnings.map((warning) => `warning  ${warning}`),
    `model    ${sees.length === 0 ? "sees nothing of it" : "would see"}`,
    ...sees.flatMap((text) => text.split("\n").map((line) => `         ${line}`)),
  ];
  io.out(lines.map((line) => `${line}\n`).join(""));
  const failure = run?.failure;
  return { name, word: failure === undefined ? "held" : "broken", why: failure, data };
}

class NotLoaded extends Error {}

function hookFile(path: string, event: string | boolean | undefined): HookFile {
  try {
    return readHookFile(path, typeof event === "string" ? event : undefined);
  } catch (error) {
    throw new UsageError(loadMessage(path, error));
  }
}

async function load(file: HookFile, cwd: string, io: Io, host: HookHost): Promise<HookRecord> {
  const folder = { root: dirname(file.path), shared: "", sharedFiles: [] };
  const prompt = file.kind === "prompt" ? (await import("../../agent/named-model.ts")).promptModel(io.env) : undefined;
  const warn = (message: string) => io.err(`crochet: ${message}\n`);
  try {
    return await loadHook(file, { folder, source: cwd, host, prompt, warn });
  } catch (error) {
    throw new NotLoaded(loadMessage(file.name, error));
  }
}

async function readInput(from: string, io: Io): Promise<Json> {
  let text: string;
  try {
    text = from === "-" ? await stdinText() : readFileSync(resolve(io.cwd, from), "utf8");
  } catch (error) {
    throw new UsageError(`Cannot read --input ${from} as ${refusalOf(error)}`);
  }
  const value = parsed(text);
  if (isObject(value)) return value;
  throw new UsageError(`Cannot use --input ${from} as it is not a JSON object`);
}

/** The event as another process would get it, changed by --set, and read back as the hook will see it. */
function eventFor(
  file: HookFile,
  record: HookRecord,
  cwd: string,
  given: Json,
  sets: readonly string[],
  facts: { now: WireFacts },
): { fired: Fired<EventName>; stdin: Json } {
  const set = sets.findLast((one) => one.startsWith("tool_name="))?.slice("tool_name=".length);
  const named = set ?? (typeof given.tool_name === "string" ? given.tool_name : undefined);
  const tool = named ?? file.tools[0] ?? /^\w+/.exec(record.matcher ?? "")?.[0];
  const sub = file.on.scope === "sub";
  const sample = sampleEvent(file.on.event, { cwd, tool, failed: file.on.outcome === "failure" });
  const ids = sub ? { agent_id: "sample-agent", parent_agent_id: SESSION } : { agent_id: SESSION };
  const times = { event_id: "sample:0", timestamp: new Date().toISOString(), turn_id: TURN };
  const stamp = { ...times, session_id: SESSION, ...ids };
  const base = wireInput({ ...sample, ...stamp } as unknown as AnyEvent, cwd, {}, file.event);
  const fields = [
    ...Object.keys({ ...base, ...given }),
    ...plainFields(file.on.event)?.map(([name, { wire }]) => wire ?? name) ?? [],
    ...SETTABLE,
  ];
  const wire = structuredClone({ ...base, ...given }) as Json;
  for (const set of sets) change(wire, set, fields);
  // As tools and hosts make it before a hook is asked.
  if (isObject(wire.tool_input) && typeof wire.tool_input.file_path === "string") {
    wire.tool_input = { ...wire.tool_input, file_path: absolute(wire.tool_input.file_path, cwd) };
  }
  const heard = ourEvents(wire, claude, ownEvent).find(({ toolNames }) =>
    toolNames.length === 0 || toolNames.includes(String(wire.tool_name))
  );
  if (!heard) throw new UsageError(`Cannot fire '${wire.hook_event_name}' as there is no such event`);
  const { transcript_path, prompt_id, permission_mode } = wire;
  facts.now = { transcript_path, prompt_id, permission_mode } as WireFacts;
  const fired = { ...sample.event === heard.fired.event ? sample : {}, ...heard.fired } as Fired<EventName>;
  return { fired, stdin: wire };
}

const SESSION = "sample-session";
const TURN = "sample-turn";

/** What hosts send with an event at times. */
const SETTABLE = ["prompt_id", "permission_mode", "effort", "agent_id", "agent_type", "error", "is_interrupt"];

function change(wire: Json, set: string, fields: readonly string[]): void {
  const at = set.indexOf("=");
  if (at < 1) throw new UsageError(`Cannot read --set ${set} as it is not path=value: tool_input.command='ls'`);
  const keys = set.slice(0, at).split(".");
  if (!fields.includes(keys[0]!)) {
    const all = [...new Set(fields)].join(", ");
    throw new UsageError(`Cannot set '${keys[0]}' as ${wire.hook_event_name} has no such field: expected ${all}`);
  }
  const [root, key = ""] = keys;
  // A tool may have more fields than we know, so that only what looks misspelt is refused.
  const meant = root === "tool_input" ? nearField(key, String(wire.tool_name)) : undefined;
  if (meant !== undefined) {
    throw new UsageError(
      `Cannot set 'tool_input.${key}' as ${wire.tool_name} has no such field: did you mean '${meant}'?`,
    );
  }
  const last = keys.pop()!;
  let inside = wire;
  for (const key of keys) {
    const next = inside[key];
    inside = (typeof next === "object" && next !== null ? next : inside[key] = {}) as Json;
  }
  const text = set.slice(at + 1);
  const value = parsed(text);
  inside[last] = value === undefined ? text : value;
}

function envOf(cwd: string, io: Io, stdin: Json): HookEnv {
  const session_id = String(stdin.session_id);
  const agent_id = typeof stdin.agent_id === "string" ? stdin.agent_id : session_id;
  const parent = agent_id === session_id ? {} : { parent_agent_id: session_id };
  const log = (hook: string, message: string) => io.err(`${hook}: ${message}\n`);
  return hookEnv({ session_id, agent_id, ...parent, turn_id: TURN, cwd, signal: io.signal, log });
}
