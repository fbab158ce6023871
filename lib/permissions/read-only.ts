import { dirname, isAbsolute, join, resolve } from "node:path";
import { foldersUp } from "../files/confine.ts";
import { entriesIn, entryAt, inside, isOfProcess, LONGEST_PATH, realPath } from "./_path-rule.ts";
import { wildcard } from "./parse-rule.ts";
import { hiddenIn, programOf, readLine, type ShellWord } from "./shell-lines.ts";

/** What a command that only reads opens. */
interface Reading {
  /** The files and folders it names, absolute. */
  readonly paths: readonly string[];
  /** The folders it opens files in that it does not name. */
  readonly searched: readonly string[];
}

interface ReadOnlyCommand {
  /** The options it may have: none of them writes a file, runs a program or takes a path with it. */
  readonly options: RegExp;
  /** Its arguments are text, not files. */
  readonly text?: boolean;
  /** Whether it opens files that it does not name: if such words are among its own, each with a blank behind it. */
  readonly searches?: RegExp;
}

const ANY = /^-/;
const GIT = /^(?:status|diff|log|show|blame|ls-files|rev-parse)$/;

/** The commands that run unasked inside the workspace. Options are listed by what is allowed, as new ones appear. */
const COMMANDS: ReadonlyMap<string, ReadOnlyCommand> = new Map(Object.entries({
  cat: { options: ANY },
  cd: { options: /^--$/ },
  cut: { options: /^-[bcdfsz]/ },
  echo: { options: ANY, text: true },
  false: { options: ANY, text: true },
  find: {
    options:
      /^-(?:name|iname|path|ipath|type|maxdepth|mindepth|not|o|or|a|and|size|mtime|mmin|empty|newer|print|prune)$/,
  },
  git: {
    options:
      /^--no-pager$|^-(?:\d+|[nU]\d*|[pusbwiMSGL]|sb)$|^--(?:(?:abbrev-commit|abbrev-ref|after|all|author|before|branch|cached|color|date|decorate|diff-filter|first-parent|follow|format|graph|grep|ignored|is-inside-work-tree|max-count|merges|minimal|name-only|name-status|no-color|no-merges|no-patch|numstat|oneline|patch|porcelain|pretty|reverse|short|shortstat|show-prefix|show-toplevel|since|staged|stat|summary|unified|until|verify|word-diff)(?:=.*)?)?$/s,
    // It shows what was in any file at any time, unless it only lists them.
    searches:
      /^(?:diff (?!.*--(?:name|stat|numstat|shortstat|summary))|show |blame )|(?:^| )(?:-[puUL]|--(?:patch|unified|word))/s,
  },
  grep: {
    options: /^-[EFGPivwxclLqsnHhorab]*(?:[ABCm]\d*|e)?$|^--(?:(?:include|exclude|exclude-dir|color)(?:=.*)?)?$/s,
    searches: /(?:^| )-[^- ]*r/,
  },
  head: { options: /^-\d*$|^-[nc]\d*$|^-[qv]$/ },
  ls: { options: ANY },
  pwd: { options: ANY, text: true },
  rg: {
    options:
      /^-[FSivwxclNnHoUu]*(?:[ABCm]\d*|[gtTe])?$|^--(?:(?:files|hidden|no-ignore|count|type|glob|max-count|max-depth|multiline|color)(?:=.*)?)?$/s,
    searches: /^(?!(?:.* )?--files )/s,
  },
  sort: { options: /^-[bdfghiMnrRsuVz]*$|^-k[\d.,a-zA-Z]*$|^-t.?$/ },
  tail: { options: /^-\d*$|^-[nc]\d*$|^-[qv]$/ },
  tr: { options: /^-[cCdst]+$/, text: true },
  true: { options: ANY, text: true },
  uniq: { options: /^-[cdiu]+$/ },
  wc: { options: /^-[cLlmw]*$/ },
  which: { options: /^-a$/, text: true },
}));

/** Names of those commands, for the docs and their test. */
export const READ_ONLY: readonly string[] = [...COMMANDS.keys()];

/** Files that patterns may stand for. */
const MOST_FILES = 1000;

/** What a command opens if it only reads, and only inside the roots, from whichever of the places it runs in. */
function readingOf(
  [name, ...rest]: readonly ShellWord[],
  places: readonly string[],
  roots: readonly string[],
): Reading | undefined {
  const command = COMMANDS.get(name!.text);
  if (!command) return undefined;
  const real = roots.map(realPath);
  const isInside = (path: string) => path === "/dev/null" || real.some((root) => inside(realPath(path), root));
  if (!places.every(isInside)) return undefined;
  const globbed = rest.flatMap((word) => word.glob ? places.flatMap((place) => expanded(word.text, place)) : []);
  const args = [...rest.flatMap((word) => word.glob ? [] : [word.text]), ...globbed];
  const operands = args.filter((arg) => !arg.startsWith("-"));
  if (args.length > MOST_FILES) return undefined;
  if (!args.every((arg) => !arg.startsWith("-") || command.options.test(arg))) return undefined;
  if (name!.text === "uniq" && operands.length > 0) return undefined; // it writes the second one
  if (name!.text === "cd" && operands.length !== 1) return undefined;
  if (name!.text === "git" && !(GIT.test(operands[0] ?? "") && places.every((place) => isOwnRepository(place, real)))) {
    return undefined;
  }
  // Behind operands some systems take an option for a file too.
  const files = command.text ? globbed : args;
  if (!files.every((file) => file.length < LONGEST_PATH && !file.split("/").includes(".."))) return undefined;
  const paths = files.flatMap((file) => places.map((place) => resolve(place, file)));
  if (!paths.every(isInside)) return undefined;
  if (!command.searches?.test(`${args.filter((arg) => arg !== "--no-pager").join(" ")} `)) {
    return { paths, searched: [] };
  }
  if (name!.text === "git") return { paths, searched: ["/"] };
  // Behind the pattern they are named, unless the value of an option could be taken for one.
  const isNamed = operands.length > 1 && args.every((arg) => /^[^-]|^-\w*[^\WABCmegtT]$|=/.test(arg));
  return { paths, searched: isNamed ? paths : [...paths, ...places] };
}

/** Commands that work on the folder they are in unless another is named, and do not only read as far as we know. */
const ON_FOLDER = /^(?:(?:[ef]?grep|rg|ag|ack|find)\0|git\0(?:.*\0)?(?:archive|clean|grep|reset|stash)\0)/s;
/** A script or a sub-command of these is not a file, though a folder may have its name. */
const SCRIPT = /^(?:bun|cargo|deno|go|make|npm|pnpm|yarn)\0(?:run\0)?[\w:-]+\0/;

/**
 * Whether git would use a `.git` of the workspace or of a folder above it, or none. One below, or a folder that is itself a
 * repository, as `HEAD` shows, may have come with a checkout, and its settings name programs that git runs.
 */
function isOwnRepository(place: string, roots: readonly string[]): boolean {
  for (const folder of foldersUp(realPath(place))) {
    const has = (name: string) => entryAt(join(folder, name)) !== undefined;
    if (has("HEAD")) return false;
    if (has(".git")) return roots.every((root) => root === folder || !inside(folder, root));
  }
  return true;
}

/** Counts as a name that leads outside: names that are too many, or cannot be read. */
const OUTSIDE = ["/"];

/** The names a pattern may become, more rather than fewer (`?` counts as `*`); itself if there are none. */
function expanded(pattern: string, place: string): readonly string[] {
  if (pattern.length > LONGEST_PATH) return OUTSIDE;
  let found: string[] | undefined;
  for (const part of pattern.split("/")) {
    const before = found?.map((path) => `${path}/`) ?? [""];
    const matches = wildcard(part.replaceAll("?", "*"));
    found = !/[*?]/.test(part)
      ? before.map((path) => path + part)
      : before.flatMap((path) =>
        entriesIn(resolve(place, path)).map(({ name }) => name)
          .filter((name) => matches(name) && (part.startsWith(".") || !name.startsWith(".")))
          .map((name) => path + name)
      );
    if (found.length > MOST_FILES || found.some((path) => path.includes("\uFFFD"))) return OUTSIDE;
  }
  return found!.length === 0 ? [pattern] : found!;
}

/** A command of a line, and where its paths lead. */
export interface BashCommand {
  readonly words: readonly string[];
  readonly source: string;
  /** The files its redirections open, absolute. */
  readonly opens: readonly { readonly kind: "read" | "write"; readonly path: string }[];
  /** If it only reads, and only inside the workspace. */
  readonly reading?: Reading | undefined;
  /** Why it may run what its words do not say. */
  readonly hides: () => string | undefined;
  /** The files its arguments may name, absolute; undefined if which ones is not known. */
  readonly named: () => readonly string[] | undefined;
}

/** What a line for Bash runs, or why that is not known. */
export type BashLine =
  | { readonly commands: readonly BashCommand[]; readonly unread?: undefined }
  | { readonly unread: string; readonly commands?: undefined };

/** How often a line may change its folder and still be read. */
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
    const self = words.find(({ text }) => namesProcess(text));
    if (self) return { unread: `it names '${self.text}', which leads elsewhere for each process` };
    const opens = redirects.flatMap(({ kind, path }) =>
      isAbsolute(path) ? [{ kind, path }] : (here ?? ["/"]).map((place) => ({ kind, path: resolve(place, path) }))
    );
    const outside = opens.find(({ path }) => !roots.some((root) => inside(realPath(dirname(path)), realPath(root))));
    if (outside) return { unread: `it redirects to '${outside.path}', which is outside the workspace` };
    const reading: Reading | undefined = here && readingOf(words, here, roots);
    const pattern = words.find(({ glob }) => glob);
    if (pattern && !reading) return { unread: `it has the pattern '${pattern.text}', and does not only read` };
    const texts = words.map((word) => word.text);
    const isFile = (path: string) => here?.some((place) => isFileIn(roots, resolve(place, path))) ?? false;
    const hides = () => reading ? undefined : hiddenIn(texts, isFile);
    const named = () => here && namedIn(texts, here);
    commands.push({ words: texts, source, opens, reading, hides, named });
    if (texts[0] === "cd") places = reading && ++moves <= MOST_MOVES ? moved(here!, texts.at(-1)!) : undefined;
  }
  return { commands };
}

function isFileIn(roots: readonly string[], path: string): boolean {
  const real = realPath(path);
  return roots.some((root) => inside(real, realPath(root))) && entryAt(real)?.isFile() === true;
}

function moved(places: readonly string[], to: string): readonly string[] {
  return [...new Set([...places, ...places.map((place) => resolve(place, to))])];
}

/** Whether a word is a path, maybe behind an option, that leads elsewhere for each process. */
function namesProcess(word: string): boolean {
  const path = word.replace(/^(?:-\w*|[\w-]*=|@)(?=\/)/, "");
  return path.startsWith("/") && isOfProcess(resolve(path));
}

/** Also behind `=`, as in `of=a`; undefined if a link could lead a `..` elsewhere. */
function namedIn([name = "", ...words]: readonly string[], places: readonly string[]): readonly string[] | undefined {
  const all = [programOf(name), ...words, ""].join("\0");
  const given = SCRIPT.test(all)
    ? words.slice(words[0] === "run" ? 2 : 1)
    : ON_FOLDER.test(all)
    ? [...words, "."]
    : words;
  const names = given.flatMap((word) => [word, word.replace(/^[^=]*=?/, "")])
    .filter((name) => name !== "" && name.length <= LONGEST_PATH);
  if (names.some((name) => name.split("/").includes(".."))) return undefined;
  return names.flatMap((name) => places.map((place) => resolve(place, name)));
}
