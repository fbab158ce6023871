import { dirname, isAbsolute, resolve } from "node:path";
import { inside, LONGEST_PATH, realPath } from "./_path-rule.ts";
import { type Reading, readingOf } from "./read-only.ts";
import { readLine } from "./shell.ts";

/** A command of a line, and where its paths lead. */
export interface BashCommand {
  readonly words: readonly string[];
  readonly source: string;
  /** The files its redirections open, absolute. */
  readonly opens: readonly { readonly kind: "read" | "write"; readonly path: string }[];
  /** If it only reads, and only inside the workspace. */
  readonly reading?: Reading | undefined;
  /** The files its arguments may name, absolute; undefined if which ones is not known. */
  readonly named: () => readonly string[] | undefined;
}

/** What a line for Bash runs, or why that is not known. */
export type BashLine =
  | { readonly commands: readonly BashCommand[]; readonly unread?: undefined }
  | { readonly unread: string; readonly commands?: undefined };

/** Changes of the folder in a line; behind more of them it is not known. */
const MOST_MOVES = 3;

/** Reads a line for a shell that is in `cwd`. */
export function readBash(text: string, cwd: string, roots: readonly string[]): BashLine {
  const line = readLine(text);
  if (line.unread !== undefined) return line;
  const commands: BashCommand[] = [];
  /** The folders the shell may be in: `cd` may fail, or run in a subshell. */
  let places: readonly string[] | undefined = [cwd];
  let moves = 0;
  for (const { words, redirects, source } of line.commands) {
    const here: readonly string[] | undefined = places;
    const opens = redirects.flatMap(({ kind, path }) =>
      isAbsolute(path) ? [{ kind, path }] : (here ?? ["/"]).map((place) => ({ kind, path: resolve(place, path) }))
    );
    const outside = opens.find(({ path }) => !roots.some((root) => inside(realPath(dirname(path)), realPath(root))));
    if (outside) return { unread: `it redirects to '${outside.path}', which is outside the workspace` };
    const reading: Reading | undefined = here && readingOf(words, here, roots);
    const pattern = words.find(({ glob }) => glob);
    if (pattern && !reading) return { unread: `it has the pattern '${pattern.text}', and does not only read` };
    const texts = words.map((word) => word.text);
    commands.push({ words: texts, source, opens, reading, named: () => here && namedIn(texts.slice(1), here) });
    if (texts[0] === "cd") places = reading && ++moves <= MOST_MOVES ? moved(here!, texts.at(-1)!) : undefined;
  }
  return { commands };
}

function moved(places: readonly string[], to: string): readonly string[] {
  return [...new Set([...places, ...places.map((place) => resolve(place, to))])];
}

/** Also behind `=`, as in `of=a`; undefined if a link could lead a `..` elsewhere. */
function namedIn(words: readonly string[], places: readonly string[]): readonly string[] | undefined {
  const names = words.flatMap((word) => [word, word.replace(/^[^=]*=?/, "")])
    .filter((name) => name !== "" && name.length <= LONGEST_PATH);
  if (names.some((name) => name.split("/").includes(".."))) return undefined;
  return names.flatMap((name) => places.map((place) => resolve(place, name)));
}
