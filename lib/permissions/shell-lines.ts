/** A word of a line after quote removal. */
export interface ShellWord {
  readonly text: string;
  /** It has an unquoted `*` or `?`: bash replaces it with names of files. */
  readonly glob: boolean;
}

interface Redirect {
  readonly kind: "read" | "write";
  readonly path: string;
}

/** A literal simple command: what it says is what bash runs. */
interface SimpleCommand {
  readonly words: readonly ShellWord[];
  readonly redirects: readonly Redirect[];
  readonly source: string;
}

/** The commands of a line that was read, or why it was not: then it may run anything. */
type ShellLine =
  | { readonly commands: readonly SimpleCommand[]; readonly unread?: undefined }
  | { readonly unread: string; readonly commands?: undefined };

/** In characters. */
const LONGEST_LINE = 65_536;
/** Each may be a path that has to be looked up. */
const MOST_WORDS = 1000;

const BLANKS = /[ \t]*/y;
const LINES = /[ \t\n]*/y;
const OPERATOR = /&&|\|\||[;|\n]/y;
/** Redirections that open no file. */
const HARMLESS = /(?:2>&1|2?>[ \t]*\/dev\/null)(?=[ \t\n;|<>]|$)/y;
const REDIRECT = /(?:>>|>|<)(?![<>&|(])[ \t]*/y;
/** Plain characters, or text in quotes that holds nothing bash would look at. */
// deno-lint-ignore no-control-regex
const PIECE = /[\w@%+=:,./^*?-]+|'[^'\0-\x08\x0b-\x1f\x7f]*'|"[^"$`\\\0-\x08\x0b-\x1f\x7f]*"/y;
const RESERVED = new Set(
  "if then else elif fi case esac for select while until do done in function time coproc".split(" "),
);

/** Builtins of bash whose arguments are code, or change what later lines mean. */
const BUILTINS = new Set(
  (". [ alias bg bind break builtin caller command compgen complete compopt continue declare dirs disown enable eval exec " +
    "export fc fg getopts hash help history jobs let local logout mapfile popd pushd read readarray readonly return set shift " +
    "shopt source suspend times trap typeset ulimit umask unalias unset").split(" "),
);
/** Commands, with a NUL behind each word, that evaluate or run an argument. */
const RUNS_ARGUMENT = /^(?:find\0.*\0-(?:exec|ok)|(?:printf|wait)\0(?:.*\0)?-|test\0(?:.*\0)?-[vR]\0)/s;
/** Programs that run what they read. */
const SHELL = /^(?:(?:r?ba|d?a|r?z|[lmor]?k|pdk|ya?|fi|t?c|po|s)?sh[\d.]*|xargs|parallel)$/;
/** Words of git that only show settings, or set those that name no program, as an alias or a pager does. */
const GIT_SHOWS = /(?:--(?:local|global)\0)?(?:--get(?:-all|-regexp)?|--list|-l|get|list|user\.(?:name|email))\0/;
/** The same of git's words: options before the sub-command, but for a folder and the pager, settings, and what names a program behind it. */
const GIT_RUNS = new RegExp(
  `^(?:-C\\0[^\\0]*\\0|-P\\0|--no-pager\\0)*(?:(?!(?:-C|-P|--no-pager)\\0)-|config\\0(?!${GIT_SHOWS.source}))` +
    "|(?:^|\\0)(?:(?:run|foreach|filter-branch)\\0|-\\w*x|--(?:ex|upl|rece|op)|-O[^\\0])",
);

/**
 * Reads a line of bash if it is literal simple commands joined by `&&`, `||`, `;`, `|` and newlines. This is a list of what is
 * read, not of what is dangerous: every other character leaves the whole line unread.
 */
export function readLine(text: string): ShellLine {
  if (text.length > LONGEST_LINE) return { unread: `it is longer than ${LONGEST_LINE} characters` };
  const commands: SimpleCommand[] = [];
  let at = 0;
  let count = 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };
  const unread = (): ShellLine => ({ unread: `it has ${shown(text, at)}, which is not read` });
  const word = (): (ShellWord & { readonly bare: boolean }) | undefined => {
    const start = at;
    const parts: string[] = [];
    for (let piece = take(PIECE); piece !== undefined; piece = take(PIECE)) parts.push(piece);
    const bare = parts.length === 1 && !isQuoted(parts[0]!);
    const glob = parts.some((part) => !isQuoted(part) && /[*?]/.test(part));
    const isNumber = bare && /[<>]/.test(text[at] ?? "") && /^\d+$/.test(parts[0]!);
    if (parts.length > 0 && !isNumber && (!glob || bare)) {
      return { text: parts.map((part) => isQuoted(part) ? part.slice(1, -1) : part).join(""), glob, bare };
    }
    // Quotes in a pattern would need escapes, and a number before a redirection is a descriptor.
    if (parts.length > 0 && !isNumber) at = start + text.slice(start, at).search(/[*?]/);
    return undefined;
  };

  for (take(LINES); at < text.length; take(LINES)) {
    const start = at;
    const words: ShellWord[] = [];
    const redirects: Redirect[] = [];
    for (; at < text.length; take(BLANKS)) {
      if (take(HARMLESS) !== undefined) continue;
      const redirect = take(REDIRECT);
      const next = redirect === undefined && /[;|&\n]/.test(text[at]!) ? "end" : word();
      if (next === "end") break;
      if (next === undefined) return unread();
      if (++count > MOST_WORDS) return { unread: `it has more than ${MOST_WORDS} words` };
      if (redirect === undefined) {
        if (words.length === 0 && next.bare && RESERVED.has(next.text)) return { unread: `it has '${next.text}'` };
        words.push(next);
      } else {
        if (next.glob || next.text === "" || next.text.split("/").includes("..")) {
          return { unread: `it redirects to '${next.text}'` };
        }
        redirects.push({ kind: redirect.startsWith("<") ? "read" : "write", path: next.text });
      }
    }
    const why = unreadCommand(words);
    if (why !== undefined) return { unread: why };
    commands.push({ words, redirects, source: text.slice(start, at).trim() });
    const operator = take(OPERATOR);
    if (operator === undefined && at < text.length) return unread();
    if (operator === undefined || operator === ";" || operator === "\n") continue;
    take(LINES);
    if (at === text.length) return { unread: `it ends with '${operator}'` };
  }
  return commands.length > 0 ? { commands } : { unread: "it has no command" };
}

/** Why a command cannot be judged by its words. */
function unreadCommand([name, ...rest]: readonly ShellWord[]): string | undefined {
  if (name === undefined) return "it has a redirection or an operator without a command";
  if (name.glob || name.text.includes("=")) return `it begins a command with '${name.text}'`;
  const program = programOf(name.text);
  const args = rest.map(({ text }) => `${text}\0`).join("");
  const all = `${program}\0${args}`;
  const hidden = BUILTINS.has(name.text) || (SHELL.test(program) && !/^\w*sh[\d.]*\0[^-+\0]/.test(all)) ||
    (program === "git" && GIT_RUNS.test(args)) || RUNS_ARGUMENT.test(all);
  return hidden ? `'${program}' runs or evaluates its arguments` : undefined;
}

/**
 * Why a command may run what its words do not say, where a rule denies or asks: a shell is understood only in front of a
 * file, and git without options that name programs. What runs its arguments is not listed: no such list is complete.
 */
export function hiddenIn(
  [name = "", ...args]: readonly string[],
  isFile: (path: string) => boolean,
): string | undefined {
  if (SHELL.test(programOf(name)) && !isFile(args[0]!)) return `'${args[0]}' is not a file of the workspace`;
  const words = args.filter((word) => !/\s/.test(word));
  const shell = piecesOf(words.join(" ")).flat().map(programOf).find((piece) => SHELL.test(piece));
  if (shell !== undefined) return `it has '${shell}', which runs what it reads`;
  const git = words.findIndex((word) => programOf(word) === "git");
  const runs = git >= 0 && GIT_RUNS.test(`${words.slice(git + 1).join("\0")}\0`);
  return runs ? "it has 'git' with an option that names a program" : undefined;
}

/** The words of a text as what reads it may find them, in quotes and in code: as they are, behind escapes, without quotes. */
export function piecesOf(text: string): readonly (readonly string[])[] {
  return [text, text.replace(/\\[a-z]/g, " "), text.replace(/['"\\]/g, "")]
    .map((form) => form.split(/[\s'"`=;|&()<>{}$:,!\[\]\\#]+/).filter((piece) => piece !== ""));
}

/** The program that a path names. */
export function programOf(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

function isQuoted(piece: string): boolean {
  return piece.startsWith("'") || piece.startsWith('"');
}

function shown(text: string, at: number): string {
  const c = text[at] ?? "";
  if (c === "'" || c === '"') return "a quote that does not end or holds '$', '`', '\\' or a control character";
  return c === "" ? "a redirection without a file" : /[\0-\x20\x7f]/.test(c) ? "a control character" : `'${c}'`;
}
