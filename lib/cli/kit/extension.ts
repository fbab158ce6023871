import type { EventName, Fired } from "../../core/events.ts";
import type { Folded } from "../../core/fold.ts";
import type { HookRecord } from "../../core/hook.ts";
import type { HookFile } from "../../hooks/discover.ts";
import type { Fixture } from "../../replay/fixture.ts";
import type { KeptFaults } from "../../replay/run-fixture.ts";
import type { Flags } from "./flags.ts";
import type { Actions } from "./group.ts";
import type { Command, Io } from "./io.ts";
import type { Judge } from "./judge.ts";
import type { Programs, TypedCommand } from "./programs.ts";
import type { ReplayedItem } from "./replay-table.ts";

/**
 * A part of the product that can be taken away: a folder in `lib/extensions`, and a line in its list. The kernel names
 * none; it asks for what one may give.
 */
export interface Extension {
  /** As its folder. */
  readonly name: string;
  /** By what is typed: one word, or two as in `hooks check`. */
  readonly commands: Actions;
  /** The extensions that it imports. */
  readonly needs?: readonly string[];
  /** Replays the fixtures whose `finding.json` is by it. */
  readonly replay?: () => Promise<{ readonly default: ReplayFinding }>;
  readonly gives?: { readonly [gift in keyof Gifts]?: () => Promise<{ readonly default: Gifts[gift] }> };
}

/** How a finding ended that was made again. */
export type ReplayFinding = (fixture: Fixture, io: Io) => Promise<ReplayedItem>;

/** What the kernel asks extensions for, and goes without, or refuses, if none gives it. */
export interface Gifts {
  /** `hooks test --in`: fires hooks in other hosts, each an item with each host. */
  readonly testIn: (firing: Firing) => Promise<void>;
  /** `replay --faults`, and the faults that were kept beside a tape. */
  readonly faults: Faults;
  /** Fixtures of other programs. */
  readonly programs: Programs;
  /** What a worker does that is asked for one run of an eval. */
  readonly attempt: (request: unknown, trusted: boolean, io: Io) => Promise<unknown>;
  /** A page of hooks in the order in which each event asks them. */
  readonly hookOrder: (whose: string, records: readonly HookRecord[]) => string;
  /** Pages of what is neither a run nor a fixture. */
  readonly pages: {
    /** The files of which the one that was written last is 'last'. */
    readonly files: (cwd: string, io: Io) => readonly string[];
    readonly draw: (meant: string, cwd: string, io: Io) => Promise<Drawn | undefined>;
  };
}

/** What searches for faults that an agent does not survive, and tries those again that were kept. */
export interface Faults {
  readonly presets: readonly string[];
  /** `named` gives the fixtures, the word among them that the flag has swallowed; undefined if that is none. */
  readonly search: (
    named: (word?: string) => readonly Fixture[] | undefined,
    flags: Flags["flags"],
    io: Io,
    judge: Judge,
    typed?: TypedCommand,
  ) => Promise<void>;
  /** Tries the kept faults in this process. */
  readonly again: KeptFaults;
  /** Each in a process of its own. */
  readonly againApart: (io: Io) => KeptFaults;
}

export interface Drawn {
  readonly name: string;
  readonly html: string;
  /** Pages that it links to, by their paths from it. */
  readonly beside?: () => Promise<[path: string, html: string][]>;
}

/** What `hooks test` was asked, and how it reads, fires and installs a hook. */
export interface Firing {
  readonly flags: Flags["flags"];
  /** Files and folders, and what one of neither name is called. */
  readonly subjects: readonly { readonly path: string; readonly name?: string }[];
  readonly io: Io;
  readonly judge: Judge;
  /** Whether flags choose the event of a hook. */
  readonly isSet: (file: HookFile) => boolean;
  readonly read: (path: string) => HookFile;
  readonly fire: (file: HookFile, at: FiredIn) => Promise<FiredHook>;
  readonly install: Command;
}

/** A hook that was fired once, and what came of it. */
export interface FiredHook {
  readonly record: HookRecord;
  readonly fired: Fired<EventName>;
  readonly stdin: { [field: string]: unknown };
  readonly folded: Folded;
}

/** Where a hook is fired. */
export interface FiredIn {
  readonly cwd: string;
  /** Fields of the event, which `--input` and `--set` may change. */
  readonly usual?: { [field: string]: unknown };
  /** Called with the event before the hook is. */
  readonly prepare?: (stdin: { [field: string]: unknown }) => void;
}

/** All that are here. They load nothing: what they bring is imported when it is used. */
async function extensions(): Promise<readonly Extension[]> {
  return (await import("../../extensions/list.ts")).EXTENSIONS;
}

/** What extensions add to the actions of a command of several words; to those of `crochet` itself without one. */
export async function addedTo(group?: string): Promise<Actions> {
  const all = (await extensions()).flatMap(({ commands }) => Object.entries(commands));
  const within = group === undefined ? "" : `${group} `;
  return Object.fromEntries(
    all.filter(([typed]) => typed.startsWith(within) && !typed.slice(within.length).includes(" "))
      .map(([typed, action]) => [typed.slice(within.length), action]),
  );
}

/** What an extension gives; undefined if there is none that does. */
export async function giftOf<Gift extends keyof Gifts>(gift: Gift): Promise<Gifts[Gift] | undefined> {
  for (const { gives } of await extensions()) if (gives?.[gift]) return (await gives[gift]()).default;
  return undefined;
}

/** What of a fixture nothing does but an extension. */
const NEEDED = { faults: "tries again the faults that are kept beside its tape", programs: "runs other programs" };

/** @throws {TypeError} if no extension gives what a fixture needs */
export async function giftFor<Gift extends keyof typeof NEEDED>(gift: Gift, { name }: Fixture): Promise<Gifts[Gift]> {
  const given = await giftOf(gift);
  if (given) return given;
  throw new TypeError(`Cannot replay ${name} as no extension here ${NEEDED[gift]}`);
}

/** What replays the findings of an extension; undefined if it is not here. */
export async function replayOf(name: string): Promise<ReplayFinding | undefined> {
  const found = (await extensions()).find((one) => one.name === name && one.replay);
  return found && (await found.replay!()).default;
}
