/** What ten module hooks cost an event, or ten JSON round trips of it, in a process of its own: `dispatch-contestant.ts hooks|json`. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../lib/core/clock.ts";
import { fire } from "../lib/core/dispatch.ts";
import type { HookEnv } from "../lib/core/hook.ts";
import { HookFolder } from "../lib/hooks/folder.ts";
import { sampleEvent } from "../lib/hooks/samples.ts";

const TIMES = 20_000;
const env: HookEnv = {
  session_id: "bench",
  agent_id: "bench",
  turn_id: "bench",
  sequence: { next: 0 },
  clock: systemClock,
  cwd: "/",
  values: new Map(),
  signal: new AbortController().signal,
};
const event = () => sampleEvent("pre-tool-use", { cwd: "/" });
const folder = mkdtempSync(join(tmpdir(), "crochet-bench-"));
for (let i = 0; i < 10; i++) {
  writeFileSync(join(folder, `${i}-pre-tool-use.hook-${i}.ts`), "export default async () => undefined;\n");
}
const records = await new HookFolder(folder, { host: { projectDir: folder } }).load();
rmSync(folder, { recursive: true });
const work: { [name: string]: () => unknown } = {
  hooks: () => fire(records, event(), env),
  json: () => {
    for (let i = 0; i < 10; i++) JSON.parse(JSON.stringify(event()));
  },
};

const once = work[process.argv[2]!]!;
for (let i = 0; i < TIMES / 4; i++) await once();
const before = process.cpuUsage();
for (let i = 0; i < TIMES; i++) await once();
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ cpu: (user + system) / 1000 }));
