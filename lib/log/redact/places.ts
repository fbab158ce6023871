import { existsSync, readFileSync } from "node:fs";
import { homedir, tmpdir, userInfo } from "node:os";
import { join, relative } from "node:path";
import { quietly } from "../../core/json.ts";
import { realOr } from "../../hooks/file/user-places.ts";

/** What differs from machine to machine, and stands on a tape as `{ROOT}`, `{HOME}`, `{TMP}` and `{USER}`. */
export interface Places {
  readonly root?: string;
  /** The root as a shell names it that was started by another way to it, which is a link. */
  readonly shellRoot?: string;
  readonly home?: string;
  readonly tmp?: string;
  readonly user?: string;
  /** What only other programs write down: where the program is installed, and the ids of its session and its agents. */
  readonly program?: {
    readonly folder?: string | undefined;
    readonly session?: string | undefined;
    readonly agents: readonly string[];
  };
}

/** How a text is written: as it is, or inside a JSON text. */
export type Form = "plain" | "json";

/** A part of a text, and what stands for it. */
export interface Replacement {
  readonly at: number;
  readonly end: number;
  readonly instead: string;
}

/** Puts placeholders for places and takes them back. `restore(place(x))` is always `x`. */
export interface Placer {
  place(text: string, form?: Form): string;
  restore(text: string, form?: Form): string;
  /** Where the next place stands in a text, from a position on. */
  find(text: string, from: number, form?: Form): Replacement | undefined;
}

/** The places of this process, for a workspace. */
export function placesHere(root: string): Places {
  const { PWD: here = root } = process.env;
  const shellRoot = here !== root && realOr(here) === realOr(root) ? { shellRoot: here } : {};
  return { root, ...shellRoot, home: homedir(), tmp: tmpdir(), user: nameHere() };
}

/** What Bun says if `$USER` is not set, as in a container. It is not a name, and a common word. */
const UNNAMED = "unknown";

/** The name that the commands of a run have for the user, with or without `$USER`; some containers have no entry for the id. */
function nameHere(): string {
  const { uid, username } = quietly(() => userInfo()) ?? { uid: -1, username: UNNAMED };
  if (username !== UNNAMED) return username;
  const users = quietly(() => readFileSync("/etc/passwd", "utf8")) ?? "";
  return new RegExp(`^([^:\\n]+):[^:\\n]*:${uid}:`, "m").exec(users)?.[1] ?? UNNAMED;
}

/** Names that are words as well, or the same on many machines: nothing is given away, and texts stay as they are. */
const COMMON_NAMES =
  /^(unknown|root|user|admin|home|ubuntu|debian|runner|node|deno|bun|app|build|test|guest|nobody|ec2-user)$/i;

/** A text that could be taken for a placeholder gets a mark, which restoring takes off. */
const LOOKALIKE = /\{(=*)(ROOT|HOME|TMP|USER|ROOT-NAME|TO-HOME|PROGRAM|SESSION-ID|AGENT-ID-\d+)\}/g;

/** Whether a text of a tape names a place, or has what was marked as it looked like one. */
export function namesPlace(text: string): boolean {
  return text.includes("{") && text.search(LOOKALIKE) >= 0;
}

interface Known {
  readonly text: string;
  readonly name: string;
  readonly kind: "path" | "word" | "name";
  /** What must stand before it, and what must follow. @default what does not make it longer */
  readonly behind?: RegExp;
  readonly follows?: (rest: string) => boolean;
}

/** Texts of a tape as this machine would have placed them: the user's name may count in other places than the recorded one. */
export function asNamedHere({ user = "" }: Places): (text: string) => string {
  const known = userName({ user, program: { agents: [] } });
  return (text) => {
    const named = text.replaceAll("{USER}", user);
    return replaced(named, (from) => nextKnown(named, from, known, "plain"));
  };
}

/**
 * @param places looked up when a text first needs them, if they are given by a function
 * @param anyUser for a tape that has `{USER}` on it: the name here stands for it, common or not
 */
export function placer(places: Places | (() => Places), anyUser = false): Placer {
  let made: ReturnType<typeof lookedUp> | undefined;
  const known = () => made ??= lookedUp(typeof places === "function" ? places() : places, anyUser);

  const find: Placer["find"] = (text, from, form = "plain") => {
    let found = nextKnown(text, from, known()[form], form);
    LOOKALIKE.lastIndex = from;
    const like = text.includes("{", from) ? LOOKALIKE.exec(text) : null;
    if (like && (!found || like.index < found.at)) {
      found = { at: like.index, end: like.index + like[0].length, instead: `{=${like[1]}${like[2]}}` };
    }
    return found;
  };
  return {
    find,
    place: (text, form) => replaced(text, (from) => find(text, from, form)),
    restore(text, form = "plain") {
      if (!text.includes("{")) return text;
      return text.replace(LOOKALIKE, (whole, marks: string, name: string) => {
        if (marks !== "") return `{${marks.slice(1)}${name}}`;
        const place = known().back.get(name);
        return place === undefined ? whole : form === "json" ? escaped(place) : place;
      });
    },
  };
}

function nextKnown(text: string, from: number, places: readonly Known[], form: Form): Replacement | undefined {
  let found: Replacement | undefined;
  for (const place of places) {
    const at = nextOf(text, place, from, form);
    // At one position the longest wins: the list is in that order.
    if (at >= 0 && (!found || at < found.at)) {
      found = { at, end: at + place.text.length, instead: `{${place.name}}` };
    }
  }
  return found;
}

function replaced(text: string, find: (from: number) => Replacement | undefined): string {
  let placed = "";
  let from = 0;
  for (let next = find(0); next; next = find(from)) {
    placed += text.slice(from, next.at) + next.instead;
    from = next.end;
  }
  return from === 0 ? text : placed + text.slice(from);
}

/** The texts of places, plain and inside JSON, and what each placeholder stands for. */
function lookedUp(places: Places, anyUser: boolean) {
  const plain = knownPlaces(places, anyUser);
  const { root, home, tmp, user, program } = places;
  const named = {
    ...{ ROOT: root, HOME: home, TMP: tmp, USER: user },
    ...(program && root !== undefined && { "ROOT-NAME": folderName(root), "TO-HOME": toHome(root, home) }),
    ...(program && { PROGRAM: program.folder, "SESSION-ID": program.session }),
    ...Object.fromEntries(program?.agents.map((id, i) => [`AGENT-ID-${i + 1}`, id]) ?? []),
  };
  const back = new Map(
    Object.entries(named).flatMap(([name, place]) => place === undefined ? [] : [[name, bare(place)] as const]),
  );
  return { plain, json: plain.map((one) => ({ ...one, text: escaped(one.text) })), back };
}

/** Puts placeholders into texts that are never restored: what only looks like a placeholder stays as it is. */
export function naming(places: Places): (text: string) => string {
  const { place } = placer(places);
  const { restore: unmarked } = placer({});
  return (text) => unmarked(place(text));
}

/** Longest first; each path also as the system resolves it, after the name it was given by. */
function knownPlaces(places: Places, anyUser: boolean): Known[] {
  const { root, shellRoot, home, tmp, program } = places;
  const given = [["ROOT", root], ["ROOT", shellRoot], ["HOME", home], ["TMP", tmp], [
    "PROGRAM",
    program?.folder,
  ]] as const;
  const paths = given.flatMap(([name, path]) => {
    if (path === undefined || path.length < 4 || !path.startsWith("/")) return [];
    const real = realOr(path);
    return (real === path ? [path] : [path, real]).map((text): Known => ({ text: bare(text), name, kind: "path" }));
  });
  return [...paths, ...userName(places, anyUser), ...programWords(places)]
    .sort((a, b) => b.text.length - a.text.length);
}

/** Of other programs, a common word counts as the name of a home, and a short name as a whole part of a path. */
function userName({ user = "", program }: Places, anyUser = false): Known[] {
  if (user === "") return [];
  const known: Known = { text: user, name: "USER", kind: "word" };
  const isCommon = COMMON_NAMES.test(user);
  if (anyUser || (user.length > 3 && !isCommon)) return [known];
  const behind = isCommon ? /(?<!\w)\/(?:home|Users)\/$/ : /(?<!\/)\/$/;
  return program ? [{ ...known, behind, follows: (rest) => !/^\.\w/.test(rest) }] : [];
}

function programWords({ program, root, home }: Places): Known[] {
  if (!program) return [];
  const ids = [program.session, ...program.agents].map((id, i) => [id, i === 0 ? "SESSION-ID" : `AGENT-ID-${i}`]);
  const words = ids.flatMap(([text, name]): Known[] => text === undefined ? [] : [{ text, name: name!, kind: "word" }]);
  if (root === undefined || root.length < 4) return words;
  return [...words, { text: folderName(root), name: "ROOT-NAME", kind: "name" }, ...wayHome(root, home)];
}

/** The way from the workspace to HOME: some programs name their own files by it. */
function wayHome(root: string, home: string | undefined): Known[] {
  const way = toHome(root, home);
  if (!way?.startsWith("../") && way !== "..") return [];
  const known: Known = { text: way, name: "TO-HOME", kind: "path" };
  if (/\w/.test(way)) return [known];
  // Dots alone lead to any folder above: here only to a hidden file of this HOME.
  const isThere = (name: string | undefined) => name !== undefined && existsSync(join(home!, name));
  return [{ ...known, follows: (rest) => isThere(/^\/(\.[\w-]+)/.exec(rest)?.[1]) }];
}

function toHome(root: string | undefined, home: string | undefined): string | undefined {
  return root === undefined || home === undefined ? undefined : relative(realOr(root), realOr(home)) || ".";
}

/** A path as one name of a folder: Claude Code keeps what it knows of a project below it. */
function folderName(path: string): string {
  return bare(path).replace(/[^A-Za-z0-9]/g, "-");
}

function bare(path: string): string {
  return path.replace(/\/+$/, "");
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

const BEFORE = { path: /[\w.~/-]/, word: /[\w-]/, name: /[^/]/ };
const AFTER = /[\w-]/;
/** What a place is written together with: an option (`-I/srv/tea`), and a path in the name of a folder or in an address. */
const JOINED = { path: /(?<![\w-])-[A-Za-z]+$/, word: /(?:^|[^\w])-(?:home|Users)-$|%2F$/i, name: /$^/ };
/** The end of a text that may be an escape of JSON. */
const ESCAPE = /(\\+)(?:[nrtbf]|u([0-9a-fA-F]{4}))$/;

/** The next place a text stands by itself: `/tmp` is not in `/tmpfs` nor in `a/tmp`, but it is in `file:///tmp`. */
function nextOf(text: string, known: Known, from: number, form: Form): number {
  const { text: place, kind, behind, follows } = known;
  for (let at = text.indexOf(place, from); at >= 0; at = text.indexOf(place, at + 1)) {
    if (behind?.test(text.slice(Math.max(0, at - 16), at)) === false) continue;
    if (follows?.(text.slice(at + place.length, at + place.length + 64)) === false) continue;
    const before = text[at - 1];
    const after = text[at + place.length];
    if (before === undefined || !BEFORE[kind].test(before) || text.slice(at - 3, at) === "://") {
      if (after === undefined || !AFTER.test(after)) return at;
      continue;
    }
    const left = text.slice(Math.max(0, at - 64), at);
    const isJoined = JOINED[kind].test(left);
    if (!isJoined && !isEscape(left, BEFORE[kind], form)) continue;
    if (after === undefined || !(isJoined && kind === "word" ? /\w/ : AFTER).test(after)) return at;
  }
  return -1;
}

/**
 * Whether the letter before a place is that of an escape, and none of the text. A plain text may be JSON, as tools give
 * it; written as JSON itself, its backslashes are twice as many.
 */
function isEscape(before: string, letter: RegExp, form: Form): boolean {
  const [, slashes, code] = ESCAPE.exec(before) ?? [];
  if (slashes === undefined || slashes.length % (form === "json" ? 4 : 2) === 0) return false;
  return code === undefined || !letter.test(String.fromCharCode(Number.parseInt(code, 16)));
}
