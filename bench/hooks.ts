/**
 * What hooks cost, each against the least it could cost, interleaved in one run: `bun hooks.ts [--rounds N]
 * [--only name,name] [--json]`. Read the ratios; the times are this machine's. Exit code 1 where a ratio is missed.
 */
import { spawn } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { systemClock } from "../lib/core/clock.ts";
import { fire } from "../lib/core/dispatch.ts";
import type { EventName, Fired } from "../lib/core/events.ts";
import type { HookEnv, HookRecord } from "../lib/core/hook.ts";
import { discover } from "../lib/hooks/discover.ts";
import { HookFolder } from "../lib/hooks/folder.ts";
import { sampleEvent } from "../lib/hooks/samples.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "40" },
    only: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const rounds = Number(values.rounds);
const root = realpathSync(mkdtempSync(join(tmpdir(), "crochet-bench-hooks-")));
/** What `crochet hooks install` writes: no launcher, no table of commands. */
const script = fileURLToPath(new URL("../lib/cli/hook.ts", import.meta.url));

type Work = () => unknown | Promise<unknown>;

interface Case {
  readonly name: string;
  readonly most: number;
  readonly against: string;
  /** What is done in this process is timed by the processor, which neighbours do not disturb; the rest by the clock. */
  readonly inProcess: boolean;
  readonly set: () => Setup | Promise<Setup>;
}

interface Setup {
  readonly ours: Work;
  readonly floor: Work;
  readonly end?: () => void;
}

const env: HookEnv = {
  session_id: "bench",
  agent_id: "bench",
  turn_id: "bench",
  sequence: { next: 0 },
  clock: systemClock,
  cwd: root,
  values: new Map(),
  signal: new AbortController().signal,
};

const call = (): Fired<EventName> => sampleEvent("pre-tool-use", { cwd: root, tool: "Bash" });

async function loaded(name: string, text: string): Promise<HookRecord[]> {
  const folder = mkdtempSync(join(root, "hooks-"));
  writeFileSync(join(folder, name), text);
  if (name.endsWith(".sh")) chmodSync(join(folder, name), 0o755);
  const hooks = new HookFolder(folder, { host: { projectDir: root } });
  const records = await hooks.load();
  if (hooks.problems.length > 0) throw new Error(hooks.problems[0]!.message);
  return [...records];
}

function run(
  command: string,
  args: readonly string[],
  input = "",
  env = process.env,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env,
      stdio: ["pipe", "pipe", "pipe"],
    });
    child.stdout.resume();
    child.stderr.resume();
    child.on("error", reject);
    child.on("close", () => resolve());
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

const MODULE =
  `export default async (event) => event.input.command === "rm" ? { action: "deny", reason: "no" } : undefined;\n`;
const RULES = Array.from(
  { length: 20 },
  (_, i) => `args.command matches '^tool${i}\\s+--force' -> deny("no ${i}")\n`,
).join("");
const SCRIPT = "#!/bin/sh\ncat >/dev/null\nexit 0\n";

const CASES: readonly Case[] = [
  {
    name: "module",
    most: 15,
    against: "a bare await of the same function",
    inProcess: true,
    set: async () => {
      const records = await loaded("pre-tool-use.x.ts", MODULE);
      const { default: hook } = await import(
        join(records[0]!.source, "pre-tool-use.x.ts")
      );
      const event = Object.freeze({ ...call() });
      return {
        ours: () => fire(records, call(), env),
        floor: () => hook(event, env),
      };
    },
  },
  {
    name: "rules",
    most: 10,
    against: "one JSON round trip of the event",
    inProcess: true,
    set: async () => {
      const records = await loaded("pre-tool-use@Bash.x.rules", RULES);
      const event = call();
      return {
        ours: () => fire(records, call(), env),
        floor: () => JSON.parse(JSON.stringify(event)),
      };
    },
  },
  {
    name: "command",
    most: 1.3,
    against: "a bare spawn of the same command",
    inProcess: false,
    set: async () => {
      const records = await loaded("pre-tool-use.x.sh", SCRIPT);
      const path = join(records[0]!.source, "pre-tool-use.x.sh");
      const line = `${JSON.stringify(call())}\n`;
      return {
        ours: () => fire(records, call(), env),
        floor: () => run(path, [], line),
      };
    },
  },
  {
    name: "crochet hook",
    most: 1.6,
    against: "bun run of an empty file",
    inProcess: false,
    set: () => {
      const file = join(root, "pre-tool-use@Bash.served.ts");
      const empty = join(root, "empty.ts");
      writeFileSync(file, MODULE);
      writeFileSync(empty, "");
      const told = {
        session_id: "s",
        cwd: root,
        hook_event_name: "PreToolUse",
        tool_name: "Bash",
        tool_input: { command: "ls" },
      };
      const runtime = "Deno" in globalThis ? ["run", "-A", "--quiet"] : [];
      const input = `${JSON.stringify(told)}\n`;
      return {
        ours: () => run(process.execPath, [...runtime, script, file], input),
        floor: () => run(process.execPath, [...runtime, empty], input),
      };
    },
  },
  {
    name: "crochet agent hook",
    most: 1.6,
    against: "bun run of an empty file",
    inProcess: false,
    set: () => {
      const empty = join(root, "nothing.ts");
      writeFileSync(empty, "");
      const note = fileURLToPath(
        new URL("../lib/extensions/monitor/note.ts", import.meta.url),
      );
      const runtime = "Deno" in globalThis ? ["run", "-A", "--quiet"] : [];
      const state = { ...process.env, CROCHET_HOME: join(root, "state") };
      mkdirSync(join(root, "state", "agents"), { recursive: true });
      // What a prompt sets off is a process of the user's own; starting one adds about 0.2.
      writeFileSync(join(root, "state/agents/bench.on-prompt.json"), '"none"');
      const input = `${
        JSON.stringify({
          tool_name: "AskUserQuestion",
          tool_input: { questions: [] },
        })
      }\n`;
      const agent = [...runtime, note, "agent", "hook", "pretooluse", "bench"];
      return {
        ours: () => run(process.execPath, agent, input, state),
        floor: () => run(process.execPath, [...runtime, empty], input, state),
      };
    },
  },
  {
    name: "discovery",
    most: 3,
    against: "reading the directory and the bytes of its 200 files",
    inProcess: true,
    set: () => {
      const folder = join(root, "many");
      mkdirSync(folder);
      for (let i = 0; i < 200; i++) {
        const [ext, text] = [[".ts", MODULE], [".sh", SCRIPT], [
          ".rules",
          RULES,
        ]][i % 3]!;
        writeFileSync(
          join(folder, `${i}-pre-tool-use@Bash.hook-${i}${ext}`),
          text!,
        );
      }
      return {
        ours: () => discover(folder),
        floor: () => readdirSync(folder).map((name) => readFileSync(join(folder, name))),
      };
    },
  },
];

async function timed(
  work: Work,
  times: number,
  inProcess: boolean,
): Promise<number> {
  const start = inProcess ? process.cpuUsage() : performance.now();
  for (let i = 0; i < times; i++) await work();
  if (typeof start === "number") return (performance.now() - start) / times;
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000 / times;
}

/** How often a thing has to be done for its time to be worth reading. */
async function timesFor(work: Work): Promise<number> {
  for (let times = 1;; times *= 2) {
    const start = performance.now();
    await timed(work, times, false);
    if (performance.now() - start > 20) return times;
  }
}

/** The time that only a tenth of all rounds beat: what it takes when nothing else is in the way. */
function best(all: readonly number[]): number {
  return [...all].sort((a, b) => a - b)[Math.floor(all.length / 10)]!;
}

const results = [];
try {
  for (const { name, most, against, inProcess, set } of CASES) {
    if (values.only && !values.only.split(",").includes(name)) continue;
    const { ours, floor, end } = await set();
    const times = inProcess ? { ours: await timesFor(ours), floor: await timesFor(floor) } : { ours: 1, floor: 1 };
    const took: { ours: number[]; floor: number[] } = { ours: [], floor: [] };
    for (let i = 0; i < rounds + 3; i++) {
      // The first rounds warm up; then each goes first in turn, so that neither always has the better moment.
      const order = i % 2 === 0 ? ["ours", "floor"] as const : ["floor", "ours"] as const;
      for (const which of order) {
        const ms = await timed(
          which === "ours" ? ours : floor,
          times[which],
          inProcess,
        );
        if (i >= 3) took[which].push(ms);
      }
    }
    end?.();
    const ratio = best(took.ours) / best(took.floor);
    results.push({
      name,
      ratio,
      most,
      ours_ms: best(took.ours),
      floor_ms: best(took.floor),
      against,
    });
    if (!values.json) {
      const times = `${best(took.ours).toFixed(4)} ms against ${best(took.floor).toFixed(4)} ms`;
      console.log(
        `${ratio <= most ? "ok    " : "MISSED"} ${name.padEnd(13)} ${
          ratio.toFixed(2)
        }× (at most ${most}×) ${against}: ${times}`,
      );
    }
  }
} finally {
  rmSync(root, { recursive: true, force: true });
}
if (values.json) console.log(JSON.stringify(results, null, 2));
process.exit(results.every(({ ratio, most }) => ratio <= most) ? 0 : 1);
