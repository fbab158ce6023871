import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { type Io, UsageError } from "../../cli/kit/io.ts";
import type { Word } from "../../cli/kit/verdict.ts";
import { several } from "../../cli/show/text.ts";
import { sandboxWorks } from "../check/hook-lane.ts";
import { HookFolder } from "../../hooks/folder.ts";
import { HOSTS, unseenIn } from "../../hooks/hosts/index.ts";
import { carryOut, planInstall } from "../../hooks/install.ts";
import { saidBy } from "../lab/lab-judge.ts";
import { holdSession, movedTo } from "../lab/room.ts";
import { type Play, playsOf, type ScriptedCall, typedInto } from "../lab/script.ts";
import { linkPackages } from "../lab/test-in.ts";
import type { Getting, HostProgram, HostWish } from "../lab/versions.ts";
import { hostProgram, NotInstalled, OtherVersion } from "../lab/versions.ts";
import type { Attacked } from "./attack-worker.ts";
import { brokenBy, readProperty, watchedWorld } from "./properties.ts";
import { placesAround, ScratchWorld } from "./world.ts";

/** What became of calls in a host. `open`: no hook of the host sees the channel, and the property is broken by it. */
interface HostCell {
  readonly calls: string;
  readonly channel: string;
  readonly state: "refused" | "host refuses" | "BROKEN" | "open" | "no event" | "not measured";
}

interface PlayedIn {
  readonly host: string;
  readonly version: string;
  /** How many of the calls that were refused here were made there. */
  readonly forms: number;
  readonly cells: readonly HostCell[];
  /** How many sessions there would have been beyond those that were held. */
  readonly left: number;
  readonly unseen: readonly string[];
}

interface PlayPlace extends Getting {
  readonly project: string;
  readonly installIn: (project: string, home: string) => Promise<void>;
}

/** What the lab's sandbox shows of a session: files, git, and what the model read. */
const SHOWN = ["changes", "removes", "reads", "later-code", "pushes", "loses-history", "loses-work"];

const MOST_SESSIONS = 30;
const TIMEOUT = 120;

interface Session {
  readonly calls: string;
  readonly play: Play;
  readonly of: number;
  readonly words: readonly string[];
}

/** Makes findings, and calls that were refused here, through every channel of a host, offline and in the lab's sandbox. */
async function playInHost(wish: HostWish, attacked: Attacked, seed: number, place: PlayPlace): Promise<PlayedIn> {
  const program = await hostProgram(wish, place);
  const { host, version } = program;
  using scratch = new ScratchWorld(place.project);
  const template = scratch.places.workspace;
  rmSync(join(template, "node_modules"), { recursive: true, force: true });
  linkPackages(template, place.project);
  const all = sessionsFor(wish, movedTo(template, place.project, attacked), template);
  const room = realpathSync(mkdtempSync(join(tmpdir(), "crochet-attack-in-")));
  const cells: HostCell[] = [];
  try {
    for (const session of all.slice(0, MOST_SESSIONS)) {
      if (place.signal.aborted) break;
      const { calls, play: { channel } } = session;
      place.say(`${host} ${version}: ${calls} by ${channel}`);
      const around = { never: attacked.never, seed, host: program, room, template, place };
      cells.push({ calls, channel, state: await stateOf(session, around) });
    }
  } finally {
    rmSync(room, { recursive: true, force: true });
  }
  const left = all.length - cells.length;
  return { host, version, forms: attacked.refused?.length ?? 0, cells, left, unseen: unseenIn(host) };
}

/** A finding has a session of its own in each channel; what was refused shares one. */
function sessionsFor({ host }: HostWish, { findings, refused = [] }: Attacked, cwd: string): Session[] {
  const plays = (call: ScriptedCall) => [...playsOf(host, "pre-tool-use", call, cwd), ...typedInto(host, call)];
  const found = findings.flatMap(({ calls }, i) => {
    const [first, ...others] = calls.map(plays);
    const rest = others.map(([one]) => one!);
    const played = rest.length === 0 ? first! : first!.slice(0, 1);
    return played.map((play): Session => {
      return { calls: `finding ${i + 1}`, of: calls.length, words: [], play: joined([play, ...rest]) };
    });
  });
  const each = refused.flatMap((call) => plays(call).map((play) => ({ play, words: call.words })));
  const shared = [...Map.groupBy(each, ({ play }) => play.channel).values()].map((all): Session => {
    const [of, words] = [all.length, all.map((one) => one.words)];
    return { calls: `${of} refused`, of, words, play: joined(all.map(({ play }) => play)) };
  });
  return [...found, ...shared];
}

/** Calls of one channel one after the other. */
function joined(plays: readonly Play[]): Play {
  const [calls, ...more] = plays.flatMap(({ calls, more = [] }) => [calls!, ...more]);
  return { ...plays[0]!, calls: calls!, more, allowed: [...new Set(plays.flatMap(({ allowed }) => allowed))] };
}

interface Around {
  readonly never: string;
  readonly seed: number;
  readonly host: HostProgram;
  readonly room: string;
  readonly template: string;
  readonly place: PlayPlace;
}

async function stateOf({ play, of, words }: Session, around: Around): Promise<HostCell["state"]> {
  const { never, seed, host, room, template, place: { installIn, env, signal, project: own } } = around;
  const property = readProperty(never, template);
  const { channel, ...made } = play;
  const folder = join(room, "session");
  let watched: ReturnType<typeof watchedWorld> | undefined;
  const traces = await holdSession({
    ...{ folder, template, host, event: "pre-tool-use", timeout: TIMEOUT, confined: true, env, signal },
    script: { prompt: "go", text: "done", ...made },
    packages: join(own, "node_modules"),
    install: async (workspace, home) => {
      await installIn(workspace, home);
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
  if (brokenBy(property, trial)) return Object.hasOwn(HOSTS[host.host].unseen ?? {}, channel) ? "open" : "BROKEN";
  if (traces.lacks || traces.asked.length === 0 || traces.ran.ended === "timeout") return "not measured";
  const denied = traces.fired.filter((one) => /deny/.test(saidBy(one))).length;
  const isRead = (text: string) => {
    const first = JSON.stringify(text.split("\n")[0]).slice(1, -1);
    return bodies.some((body) => body.includes(first));
  };
  if (denied >= of && words.every(isRead)) return "refused";
  return traces.fired.length === 0 ? "no event" : "host refuses";
}

/** The hosts that were asked for, each with what plays in it: the word of a verdict, and lines. */
export async function hostsPlayed(
  wishes: readonly { readonly typed: string; readonly wish: HostWish }[],
  folder: string,
  properties: readonly string[],
  { io, install }: { readonly io: Io; readonly install: boolean },
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
  const around = { env: io.env, signal: io.signal, install, project: io.cwd };
  const installFor = (host: HostWish["host"]): PlayPlace["installIn"] => async (into, home) => {
    const env = { ...io.env, HOME: home, CROCHET_HOME: undefined };
    const found = new HookFolder(join(into, hooks), { host: { projectDir: into, env } });
    const records = await found.load();
    const pairs = found.files.map((file, i) => ({ file, record: records[i]! }));
    carryOut(await planInstall(pairs, { host, scope: "project", cwd: into, env }), env);
  };
  return wishes.map(({ typed, wish }) => ({
    name: typed,
    play: async (attacked: Attacked, seed: number, say: (text: string) => void) => {
      const began = performance.now();
      const said = (word: Word, lines: readonly string[], data: object = {}) => {
        return { word, lines, data, seconds: (performance.now() - began) / 1000 };
      };
      const named = `${attacked.never} in ${typed}`;
      if (!confined) return said("not measured", [`– ${named}  not measured: needs bubblewrap`]);
      try {
        const place = { ...around, say, installIn: installFor(wish.host) };
        const played = await playInHost(wish, attacked, seed, place);
        const { word, lines } = hostStory(attacked.never, played);
        return said(word, lines, { in: played });
      } catch (error) {
        if (error instanceof NotInstalled) return said("not measured", [`– ${named}  not measured: ${error.message}`]);
        if (error instanceof OtherVersion) return said("cannot run", [`– ${named}  ${error.message}`]);
        throw error;
      }
    },
  }));
}

/** What was seen in a host, as an item and in lines. */
function hostStory(never: string, { host, version, forms, cells, left, unseen }: PlayedIn) {
  const width = Math.max(...cells.map(({ calls }) => calls.length), 0);
  const wide = Math.max(...cells.map(({ channel }) => channel.length), 0);
  const open = cells.filter(({ state }) => state === "open");
  const broken = cells.filter(({ state }) => state === "BROKEN");
  const bad = [...open, ...broken];
  const channels = [...new Set(cells.flatMap(({ channel, state }) => state === "not measured" ? [] : channel))];
  const word: Word = bad.length > 0 ? "broken" : channels.length > 0 && left === 0 ? "held" : "not measured";
  const mark = { broken: "✗", held: "✓", "not measured": "–", "cannot run": "–" }[word];
  const holes = [...new Set(open.map(({ channel }) => `open: ${channel}`)), ...(broken.length > 0 ? ["broken"] : [])];
  const held = `none of ${several(forms, "refused form")} breaks it there, through ${channels.join(", ")}`;
  const lines = [
    `${mark} ${never} in ${host} ${version}  ${word === "held" ? held : holes.join(", ") || word}`,
    ...cells.map(({ calls, channel, state }) => `  ${calls.padEnd(width)}  ${channel.padEnd(wide)}  ${state}`),
    ...(left > 0 ? [`  ${left} sessions of the host beyond ${MOST_SESSIONS} were not held`] : []),
    ...unseen.filter((line) => !bad.some(({ channel }) => line.includes(channel))).map((line) =>
      `  not covered: ${line}`
    ),
  ];
  return { word, lines };
}
