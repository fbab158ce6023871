/**
 * What `crochet hook` costs another host: the CPU time of the process for each event of each host, for a module that says
 * nothing and for one that refuses, against an empty script. What is started is what a package has, built if it is older.
 * Contestants take turns: `bun served.ts [--rounds N] [--only silent] [--json]`.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { AnyEvent } from "../lib/core/events.ts";
import { kebab, pascal, resolveEvent } from "../lib/core/names.ts";
import { HOST_NAMES, HOSTS } from "../lib/hooks/hosts/index.ts";
import type { WireEvent } from "../lib/hooks/hosts/host.ts";
import { wireInput } from "../lib/hooks/process/wire.ts";
import { sampleEvent } from "../lib/hooks/samples.ts";
import { here, median } from "./_measure.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "4" },
    only: { type: "string", default: "" },
    json: { type: "boolean", default: false },
  },
});
const dir = mkdtempSync(join(tmpdir(), "crochet-bench-served-"));
const MODULES = {
  silent: "export default () => undefined;\n",
  refusing: 'export default () => ({ action: "deny", reason: "not here" });\n',
};

/** Milliseconds of CPU that a process took. */
function cpu(args: readonly string[], stdin: string): number {
  const ended = Bun.spawnSync([process.execPath, ...args], { stdin: Buffer.from(stdin), cwd: dir });
  return Number(ended.resourceUsage.cpuTime.total) / 1000;
}

interface Case {
  readonly name: string;
  readonly args: readonly string[];
  readonly stdin: string;
}

function cases(): Case[] {
  return HOST_NAMES.flatMap((host) => {
    const ours = new Set(Object.values(HOSTS[host].events).flatMap((row) => row.ours?.slice(0, 1) ?? []));
    return [...ours].flatMap((name) =>
      Object.entries(MODULES).filter(([kind]) => kind.includes(values.only)).map(([kind, text]): Case => {
        const file = join(dir, `${name}.${kind}.ts`);
        writeFileSync(file, text);
        const args = [here("../dist/cli/hook.js"), "--dialect", host, file];
        return { name: `${host} ${name} ${kind}`, args, stdin: `${JSON.stringify(wire(host, name))}\n` };
      })
    );
  });
}

/** A typical event as the host writes it. */
function wire(host: typeof HOST_NAMES[number], name: string): WireEvent {
  const on = resolveEvent(name)!;
  const sub = on.scope === "sub";
  const event = {
    ...sampleEvent(on.event, { cwd: dir, failed: on.outcome === "failure" }),
    ...{ event_id: "bench:0", timestamp: "2026-01-01T00:00:00.000Z", session_id: "bench", turn_id: "bench:turn" },
    agent_id: sub ? "bench-sub" : "bench",
    ...(sub && { parent_agent_id: "bench", agent_type: "general-purpose" }),
  } as unknown as AnyEvent;
  const around = { session_id: "bench", transcript_path: "", permission_mode: "default", minute: 0 };
  const facts = { ...around, prompt_id: undefined, effort: undefined };
  const claude = wireInput(event, dir, {}, pascal(kebab(name))) as WireEvent;
  const { commands, events } = HOSTS[host];
  const [theirs = ""] = Object.entries(events).find(([, { ours }]) => ours?.includes(name)) ?? [];
  return commands?.written(claude, facts) ?? { ...claude, hook_event_name: theirs };
}

try {
  execFileSync(process.execPath, [here("../.ci/build.ts"), "--if-older"], { stdio: "inherit" });
  const empty = join(dir, "empty.ts");
  writeFileSync(empty, "");
  const all = cases();
  const took = new Map(all.map(({ name }) => [name, [] as number[]]));
  const floors: number[] = [];
  // The first round compiles.
  for (let round = 0; round <= Number(values.rounds); round++) {
    for (const { name, args, stdin } of all) {
      const [ours, floor] = [cpu(args, stdin), cpu([empty], stdin)];
      if (round === 0) continue;
      took.get(name)!.push(ours);
      floors.push(floor);
    }
  }
  // Of so many cases some always meet a bad moment: the least of a few tries is what it takes.
  const ratios = [...took].map(([name, list]) => ({ name, ratio: Math.min(...list) / median(floors) }))
    .sort((a, b) => b.ratio - a.ratio);
  if (values.json) console.log(JSON.stringify({ worst: ratios[0]!.ratio, ratios }));
  else for (const { name, ratio } of ratios) console.log(`${ratio.toFixed(2)}x ${name}`);
} finally {
  rmSync(dir, { recursive: true });
}
