import { join } from "node:path";
import type { EventName, Fired } from "../../core/events.ts";
import type { Folded } from "../../core/fold.ts";
import type { ToolUse } from "../../hooks/hosts/channel.ts";
import { hostEvent, type HostName } from "../../hooks/hosts/index.ts";
import { expectedIn, judge, type LabRun } from "./lab-judge.ts";
import { holdSession, type LabSession } from "./room.ts";
import { callAt, type Play, playsOf, scriptOf, unmade } from "./script.ts";
import { offered } from "./lab-model.ts";
import type { Getting, HostProgram, HostWish } from "./versions.ts";
import { hostProgram, NoProgram } from "./versions.ts";
import type { JsonObject } from "../../core/json.ts";

/** An event at which a hook was fired here, in the project in which hosts will fire it. */
export interface LabCase {
  readonly stdin: JsonObject;
  readonly fired: Fired<EventName>;
  readonly folded: Folded;
  /** What it answered, in words. */
  readonly said: string;
  /** What the call names, which another call may need to be absent or to say something else. */
  readonly files: readonly (readonly [path: string, text: string])[];
}

export interface LabHook {
  readonly event: string;
  /** The project, and the folder beside which sessions are held. */
  readonly project: string;
  readonly room: string;
  /** The event, and the same with other tools that the hook is for. */
  readonly cases: readonly LabCase[];
  /** Whether a person or an example chose the call. */
  readonly chosen: boolean;
  /** Writes it into a host's settings. */
  readonly install: (host: HostName, project: string, home: string) => Promise<void>;
  /** Whether that makes a mod, which calls no command of ours. */
  readonly isMod: boolean;
  readonly packages: string;
}

export type LabOptions = Getting & Pick<LabSession, "timeout" | "confined">;

/** Of a host in which nothing was seen. */
const BLANK = { fired: 0, said: "–", effect: "none", read: "–", left: [], requests: 0, exit: null, ms: 0 } as const;

const networkOf = (confined: boolean) => confined ? "none" as const : "by proxy" as const;

/** Fires a hook in a host, by every channel. */
export async function tryIn(wish: HostWish, hook: LabHook, options: LabOptions): Promise<LabRun[]> {
  const { event, cases: [first], chosen } = hook;
  const { host, version = "–" } = wish;
  const { confined } = options;
  const seen = (state: LabRun["state"], why: string): LabRun[] => [
    { host, version, network: networkOf(confined), expected: "–", ...BLANK, state, why },
  ];
  if (hostEvent(host, event) === undefined) return seen("cannot", `${host} has no event like ${event}`);
  const call = callAt(event, first!.stdin, chosen, host);
  const why = unmade(host, event, call?.tool ?? "");
  if (why !== undefined) return seen("not measured", `not measured: ${why}`);
  if (call && !confined) return seen("not measured", "not measured: needs bubblewrap");
  const program = await hostProgram(wish, options);
  if (program instanceof NoProgram) return seen(program.state, program.message);
  const runs: LabRun[] = [];
  let has: readonly string[] | undefined;
  for (const one of hook.cases) {
    const call = callAt(event, one.stdin, chosen, host);
    for (const play of call ? playsOf(host, event, call, String(one.stdin.cwd)) : [undefined]) {
      // The tools of Codex depend on its model, which depends on the play.
      const names = (play?.starts ?? play?.calls ?? []).map(({ name }) => name);
      if (
        one !== first && (play?.starts || runs.some((run) => run.channel === play?.channel && run.tool === call?.tool))
      ) {
        continue;
      }
      if (has && host !== "codex" && !names.some((name) => has!.includes(name))) continue;
      const { offers, ...run } = await playIn(program, hook, one, play, call, runs.length > 0, options);
      has ??= offers;
      runs.push(run);
    }
  }
  return runs;
}

/** One session of a host with the hook, and its twin. */
async function playIn(
  program: HostProgram,
  hook: LabHook,
  { stdin, fired, folded, said, files }: LabCase,
  play: Play | undefined,
  call: ToolUse | undefined,
  isOther: boolean,
  { confined, signal, env, timeout, say }: LabOptions,
): Promise<LabRun & { readonly offers: readonly string[] }> {
  const { event, project, room, packages } = hook;
  const { host, version } = program;
  const { channel } = play ?? {};
  say(`${host} ${version}${channel === undefined ? "" : ` ${channel}`}`);
  const session = (name: string, more: Partial<LabSession>) =>
    holdSession({
      ...{ folder: join(room, [host, version, name].join("-")), template: project, host: program, event },
      ...{ timeout, confined, env, signal, packages, files, ...more },
      script: scriptOf(event, stdin, play),
    });
  const [hooked, control] = await Promise.all([
    session("hooked", { install: (path, home) => hook.install(host, path, home) }),
    session("control", {}),
  ]);
  const network = networkOf(confined);
  const pair = { host, version, event, hooked, control, expected: expectedIn(host, fired, folded), call, isOther };
  const judged = judge({ ...pair, template: project, isMod: hook.isMod });
  const about = { host, version, ...(channel !== undefined && { channel, tool: call!.tool }), network, expected: said };
  return { ...about, ...judged, offers: control.asked.flatMap(({ body }) => offered(body)) };
}
