import { mkdirSync, mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { type Io, UsageError } from "../../cli/kit/io.ts";
import type { Item, Word } from "../../cli/kit/verdict.ts";
import { several } from "../../cli/show/text.ts";
import { sandboxWorks } from "../check/hook-lane.ts";
import type { ToolUse } from "../../hooks/hosts/channel.ts";
import { type HostName, HOSTS, unseenIn } from "../../hooks/hosts/index.ts";
import { carryOut, installableIn, type InstallPlace, planInstall } from "../../hooks/install.ts";
import { saidBy } from "../lab/lab-judge.ts";
import { RESULT } from "../lab/lab-model.ts";
import { holdSession, type LabSession, movedTo, type Traces } from "../lab/room.ts";
import { type Play, playsOf, typedInto } from "../lab/script.ts";
import { linkPackages } from "../lab/test-in.ts";
import { type HostProgram, hostProgram, type HostWish, NoProgram } from "../lab/versions.ts";
import type { Attacked } from "./attack-worker.ts";
import { brokenBy, readProperty, watchedWorld } from "./properties.ts";
import { placesAround, ScratchWorld } from "./world.ts";
import { removeTree } from "../../files/tree.ts";

/** What became of calls in a host. `open`: no hook of the host sees the channel, and the property is broken by it. */
export interface HostCell {
  readonly calls: string;
  readonly channel: string;
  readonly state: "refused" | "host refuses" | "BROKEN" | "open" | "no event" | "not measured";
}

/** What the lab's sandbox shows of a session: files, git, and what the model read. */
const SHOWN = ["changes", "removes", "reads", "later-code", "pushes", "loses-history", "loses-work"];

const MOST_SESSIONS = 30;
const TIMEOUT = 120;

/** Calls that are made in one session. */
interface PlayedCalls {
  readonly calls: string;
  readonly play: Play;
  readonly of: number;
}

type HostStory = Pick<Item, "word" | "data" | "seconds"> & { readonly lines: readonly string[] };

/** The hosts that were asked for, each with what plays in it what was found: through every channel, offline and in the lab's sandbox. */
export async function hostsPlayed(
  wishes: readonly { readonly typed: string; readonly wish: HostWish }[],
  folder: string,
  properties: readonly string[],
  io: Io,
  install: boolean,
) {
  const hooks = relative(realpathSync(io.cwd), realpathSync(folder));
  if (hooks.startsWith("..")) {
    throw new UsageError(`Cannot attack in hosts with ${folder} as it is outside the project`);
  }
  const hidden = properties.find((never) => {
    const { effect, own } = readProperty(never, io.cwd);
    return own || !SHOWN.includes(effect);
  });
  if (hidden !== undefined) {
    throw new UsageError(`Cannot attack '${hidden}' in hosts as no host shows it: expected ${SHOWN.join(", ")}`);
  }
  const confined = await sandboxWorks();
  const { env, signal } = io;
  return wishes.map(({ typed, wish }) => ({
    name: typed,
    play: async (attacked: Attacked, seed: number, say: (text: string) => void): Promise<HostStory> => {
      const named = `${attacked.never} in ${typed}`;
      if (!confined) return { word: "not measured", lines: [`– ${named}  not measured: needs bubblewrap`] };
      const host = await hostProgram(wish, { env, signal, install, say });
      if (host instanceof NoProgram) {
        const word = host.state === "other version" ? "cannot run" : "not measured";
        return { word, lines: [`– ${named}  ${word === "cannot run" ? "" : `${word}: `}${host.message}`] };
      }
      const began = performance.now();
      using scratch = new ScratchWorld(io.cwd);
      const template = scratch.places.workspace;
      removeTree(join(template, "node_modules"));
      linkPackages(template, io.cwd);
      const { held, left } = sessionsFor(wish, movedTo(template, io.cwd, attacked), template);
      const room = realpathSync(mkdtempSync(join(tmpdir(), "crochet-attack-in-")));
      const session: Omit<LabSession, "script"> = {
        ...{ folder: join(room, "session"), template, host, event: "pre-tool-use", timeout: TIMEOUT, confined, env },
        ...{ signal, packages: join(io.cwd, "node_modules") },
        install: async (cwd, home) => {
          const place: InstallPlace = {
            host: wish.host,
            scope: "project",
            cwd,
            env: { ...env, HOME: home, CROCHET_HOME: undefined },
          };
          carryOut(await planInstall(await installableIn(join(cwd, hooks), place), place), place.env);
        },
      };
      const cells: HostCell[] = [];
      try {
        for (const one of held) {
          if (signal.aborted) break;
          const { calls, play: { channel } } = one;
          say(`${host.host} ${host.version}: ${calls} by ${channel}`);
          cells.push({ calls, channel, state: await stateOf(one, attacked, seed, session) });
        }
      } finally {
        removeTree(room);
      }
      const seconds = (performance.now() - began) / 1000;
      return { ...hostStory(attacked, session, cells, left + held.length - cells.length), seconds };
    },
  }));
}

/** A finding has a session of its own in each channel of its first call; what was refused shares one. `left`: beyond the most. */
export function sessionsFor(
  { host }: HostWish,
  { findings, refused = [] }: Pick<Attacked, "findings" | "refused">,
  cwd: string,
): { readonly held: readonly PlayedCalls[]; readonly left: number } {
  const plays = (call: ToolUse) => [...playsOf(host, "pre-tool-use", call, cwd), ...typedInto(host, call)];
  const found = findings.flatMap(({ calls }, i) => {
    const [first, ...others] = calls.map(plays);
    return first!.map((play): PlayedCalls => {
      const rest = others.map((ways) => ways.find(({ channel }) => channel === play.channel) ?? ways[0]!);
      return { calls: `finding ${i + 1}`, of: calls.length, play: joined([play, ...rest]) };
    });
  });
  const shared = [...Map.groupBy(refused.flatMap(plays), ({ channel }) => channel).values()].map((all): PlayedCalls => {
    return { calls: `${all.length} refused`, of: all.length, play: joined(all) };
  });
  const all = [...found, ...shared];
  return { held: all.slice(0, MOST_SESSIONS), left: Math.max(0, all.length - MOST_SESSIONS) };
}

/** Between the channels of a finding that goes by several. */
const AND = " + ";

/** Calls one after the other. */
function joined(plays: readonly Play[]): Play {
  const [calls, ...more] = plays.flatMap(({ calls, more = [] }) => [calls!, ...more]);
  const channel = [...new Set(plays.map(({ channel }) => channel))].join(AND);
  return { ...plays[0]!, channel, calls: calls!, more, allowed: [...new Set(plays.flatMap(({ allowed }) => allowed))] };
}

async function stateOf(
  { play, of }: PlayedCalls,
  { never, refused = [] }: Attacked,
  seed: number,
  session: Omit<LabSession, "script">,
): Promise<HostCell["state"]> {
  const { folder, template, host: { host }, install } = session;
  const property = readProperty(never, template);
  const { channel, ...made } = play;
  let watched: ReturnType<typeof watchedWorld> | undefined;
  const traces = await holdSession({
    ...session,
    script: { prompt: "go", text: "done", ...made },
    install: async (workspace, home) => {
      await install!(workspace, home);
      const places = { workspace, tmp: join(folder, "world/tmp"), ...placesAround(join(folder, "world")) };
      for (const path of Object.values(places)) mkdirSync(path, { recursive: true });
      watched = watchedWorld(property, seed, places, { packages: ["node_modules"], sandboxed: false });
      watched.watch.begin();
    },
  });
  const { watch, planted: { canary, paths: [path] } } = watched!;
  const bodies = traces.asked.map(({ body }) => JSON.stringify(body));
  const effects = [...watch.now().values()];
  if (path !== undefined && bodies.some((body) => body.includes(canary))) effects.push({ kind: "read", path });
  const call = { tool: "", input: {}, id: "", verdicts: [], asked: false, ran: true, effects, result: "" };
  const trial = { calls: [call], modelCalls: 0, timedOut: false, events: [], results: [] };
  if (brokenBy(property, trial)) return breakBy(host, channel);
  if (traces.lacks || bodies.length === 0 || traces.ran.ended === "timeout") return "not measured";
  if (refusals(traces, bodies, refused.map(({ words }) => words)) >= of) return "refused";
  return traces.fired.length === 0 ? "no event" : "host refuses";
}

/** What it is that calls break a property: the guard has no hole where no hook was asked. */
export function breakBy(host: HostName, channel: string): HostCell["state"] {
  return unseenOf(host, channel).length > 0 ? "open" : "BROKEN";
}

/** The ways in a channel of which a host tells no hook. */
function unseenOf(host: HostName, channel: string): string[] {
  return channel.split(AND).filter((one) => Object.hasOwn(HOSTS[host].unseen ?? {}, one));
}

/** How many calls hooks refused: so many results have words of a hook. Of several hooks a host may show any, or one of them. */
function refusals({ fired }: Traces, bodies: readonly string[], words: readonly string[]): number {
  const denied = fired.filter((one) => /deny/.test(saidBy(one))).length;
  if (words.length === 0) return denied;
  const firsts = words.map((text) => JSON.stringify(text.split("\n")[0]).slice(1, -1));
  const shown = bodies.map((body) => body.split(RESULT).filter((part) => firsts.some((one) => part.includes(one))));
  return Math.min(denied, Math.max(...shown.map(({ length }) => length)));
}

/** What was seen in a host, as an item and in lines. */
export function hostStory(
  { never, refused = [] }: Pick<Attacked, "never" | "refused">,
  { host: { host, version } }: { readonly host: Pick<HostProgram, "host" | "version"> },
  cells: readonly HostCell[],
  left: number,
): HostStory {
  const width = Math.max(...cells.map(({ calls }) => calls.length), 0);
  const wide = Math.max(...cells.map(({ channel }) => channel.length), 0);
  const open = cells.filter(({ state }) => state === "open");
  const broken = cells.filter(({ state }) => state === "BROKEN");
  const channels = [...new Set(cells.map(({ channel }) => channel))].join(", ");
  const isPlayed = cells.length > 0 && left === 0 && cells.every(({ state }) => state !== "not measured");
  const word: Word = open.length + broken.length > 0 ? "broken" : isPlayed ? "held" : "not measured";
  const mark = { broken: "✗", held: "✓", "not measured": "–", "cannot run": "–" }[word];
  const ways = [...new Set(open.flatMap(({ channel }) => unseenOf(host, channel)))];
  const holes = [...ways.map((way) => `open: ${way}`), ...(broken.length > 0 ? ["broken"] : [])];
  const forms = refused.length;
  const held = `none of ${several(forms, "refused form")} breaks it there, through ${channels}`;
  const unseen = unseenIn(host);
  const lines = [
    `${mark} ${never} in ${host} ${version}  ${word === "held" ? held : holes.join(", ") || word}`,
    ...cells.map(({ calls, channel, state }) => `  ${calls.padEnd(width)}  ${channel.padEnd(wide)}  ${state}`),
    ...(left > 0 ? [`  ${left} sessions of the host beyond ${MOST_SESSIONS} were not held`] : []),
    ...unseen.filter((line) => !ways.some((way) => line.includes(way))).map((line) => `  not covered: ${line}`),
  ];
  return { word, lines, data: { in: { host, version, forms, cells, left, unseen } } };
}
