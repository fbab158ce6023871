import { type Command, readCommandLine } from "./commands.ts";
import { gitRuns } from "./git.ts";
import { literal, MANY, ONE, type Word } from "./reader.ts";

/** What a command runs beside itself. */
export interface Runs {
  /** All of them must be allowed; any of them may be denied. */
  readonly commands: readonly Command[];
  /** The runner adds nothing of its own (`timeout 5 x`, `sh -c x`): it needs no rule where all it runs has one. */
  readonly transparent: boolean;
  /** Where the command it runs starts among its words, if that is sure. */
  readonly at?: number;
  /** `inner`: one of `commands` is meant, but which is not sure. `anything`: it may run what stands nowhere. */
  readonly unsure?: "inner" | "anything";
  readonly doubts: readonly string[];
}

/** How the words before the command of a runner are read; what is not listed makes the place of the command unsure. */
interface Prefix {
  readonly flags?: RegExp;
  /** Flags whose value is the next word. */
  readonly valued?: RegExp;
  /** Words before the command that are neither. */
  readonly operands?: number;
  readonly assignments?: boolean;
  /** It changes what the command can do, so it needs a rule of its own. */
  readonly matters?: boolean;
}

const PREFIXES: Readonly<Record<string, Prefix>> = {
  builtin: {},
  busybox: { matters: true },
  command: { flags: /^-p$/ },
  env: { flags: /^(?:-i|-|--ignore-environment)$/, assignments: true },
  doas: { matters: true },
  exec: { flags: /^-[cl]+$/, valued: /^-a$/ },
  ionice: { flags: /^-(?:t|[cn]\d)$/, valued: /^-[cn]$/ },
  nice: { flags: /^-(?:n?-?\d+)$/, valued: /^-n$/ },
  nohup: {},
  setsid: { flags: /^-[cfw]+$/ },
  strace: { matters: true },
  sudo: { assignments: true, matters: true },
  stdbuf: { flags: /^-[ioe].+$/, valued: /^-[ioe]$/ },
  timeout: {
    flags: /^(?:-v|-[ks].+|--(?:foreground|preserve-status|verbose|kill-after=.*|signal=.*))$/,
    valued: /^(?:-[ks]|--kill-after|--signal)$/,
    operands: 1,
  },
  xargs: {
    flags:
      /^(?:-[0rtx]+|-[nPLsd].+|--(?:null|no-run-if-empty|verbose|exit|max-(?:args|procs|lines|chars)=.*|delimiter=.*))$/,
    valued: /^(?:-[nPLsdEaI]|--max-(?:args|procs|lines|chars)|--delimiter|--arg-file)$/,
  },
};

/** Programs that run a command given in their arguments, in ways we do not read. */
const OTHERS = new Set(
  ("su runuser ssh watch script flock chroot unshare nsenter setpriv ltrace gdb perf valgrind " +
    "pkexec gosu su-exec chpst daemonize prlimit bwrap firejail proot faketime entr " +
    "systemd-run toybox taskset chrt numactl setarch fakeroot unbuffer xvfb-run dbus-run-session tmux screen " +
    "time compgen complete mapfile readarray bind fc").split(" "),
);

/** Programs that take commands from their input, or in a language we do not read. */
const READERS = new Set("zsh ksh mksh ash fish csh tcsh rbash parallel at batch crontab".split(" "));
const SHELLS = new Set(["bash", "sh", "dash"]);
const REDEFINE = new Set(["alias", "hash", "enable"]);
/** Builtins that take words for names, and evaluate a subscript in them. */
const NAMES = new Set("declare typeset local export readonly unset read mapfile readarray getopts".split(" "));

/** What else a command runs, or undefined where it only runs itself. */
export function runsOf(command: Command, depth = 0): Runs | undefined {
  const name = literal(command.words[0]);
  if (name === undefined) return undefined;
  const program = name.slice(name.lastIndexOf("/") + 1);
  const rest = command.words.slice(1);
  const bare = program === name;
  const prefix = Object.hasOwn(PREFIXES, program) ? PREFIXES[program] : undefined;
  if (prefix) return rest.length === 0 ? undefined : runPrefixed(command, program, prefix, bare && !prefix.matters);
  if (OTHERS.has(program)) {
    return rest.length === 0 ? undefined : { ...suffixes(command, depth), ...operand(command), transparent: false };
  }
  if (READERS.has(program)) return { ...ANYTHING, ...operand(command), transparent: false };
  if (SHELLS.has(program)) return runShell(command, program !== "bash", bare, depth);
  if (program === "eval") return runScript(rest, { transparent: bare, posix: command.posix, depth });
  if (program === "trap") return runTrap(rest, command.posix, depth);
  if (program === "source" || program === ".") return runFile(command, literal(rest[0]) === "--" ? 2 : 1);
  if (program === "git") return runGit(command, depth);
  if (program === "find") return runFind(command, /^-(?:exec|ok)(?:dir)?$/);
  if (program === "fd" || program === "fdfind") {
    if (rest.some((word) => FD_RUNS_JOINED.test(literal(word) ?? ""))) return { ...ANYTHING, transparent: false };
    return runFind(command, FD_RUNS);
  }
  if (REDEFINE.has(program) && rest.length > 0) return { ...ANYTHING, transparent: false };
  return undefined;
}

/** Why a command may evaluate its own words as code. */
export function doubtOf(command: Command): string | undefined {
  const name = literal(command.words[0]) ?? "";
  return evaluates(name, command.words.slice(1)) ? `'${name}' may evaluate its words as code` : undefined;
}

function evaluates(name: string, rest: readonly Word[]): boolean {
  const texts = rest.map((word) => literal(word));
  if (name === "let") return true;
  if (NAMES.has(name)) {
    const calculates = /^(?:declare|typeset|local)$/.test(name) && texts.some((t) => /^-\w*[in]/.test(t ?? ""));
    return calculates || texts.some((t) => t === undefined || t.includes("["));
  }
  if (name === "printf") return rest.length > 0 && (texts[0]?.startsWith("-v") ?? true);
  if (name !== "test" && name !== "[") return false;
  const splits = rest.some((word) => word.parts.some((part) => typeof part !== "string" && part.many));
  return splits || texts.includes("-v") || (texts[0] === undefined && rest.length === (name === "[" ? 3 : 2));
}

const ANYTHING = { commands: [], unsure: "anything", doubts: [] } as const;

function runPrefixed(command: Command, program: string, prefix: Prefix, transparent: boolean): Runs | undefined {
  const { words } = command;
  const assignments: Word[] = [];
  let operands = prefix.operands ?? 0;
  let replaces: string | undefined;
  let flags = true;
  for (let i = 1; i < words.length; i++) {
    const word = words[i]!;
    const text = literal(word);
    if (text === undefined) break;
    if (flags && program === "xargs" && /^-I./.test(text)) replaces = text.slice(2);
    else if (flags && text === "--") flags = false;
    else if (flags && prefix.flags?.test(text)) continue;
    else if (flags && prefix.valued?.test(text)) {
      if (text === "-I") replaces = literal(words[i + 1]) ?? "";
      if (literal(words[++i]) === undefined) break;
    } else if (flags && text.startsWith("-")) {
      // `command -v x` asks where x is and runs nothing.
      if (program === "command" && /^-[vV]+$/.test(text)) return undefined;
      // These have flags that hold a command, or say what input is put into.
      if (program === "env" || program === "xargs") return { ...ANYTHING, transparent: false };
      break;
    } else if (prefix.assignments && text.includes("=")) {
      flags = false;
      assignments.push(word);
    } else if (operands-- > 0) flags = false;
    else {
      let inner = words.slice(i);
      if (program === "xargs") {
        if (replaces !== undefined) inner = inner.map((w) => replaced(w, replaces));
        else inner = [...inner, { parts: [MANY], source: "", bare: false }];
      }
      return { commands: [{ ...command, words: inner, assignments, redirects: [] }], transparent, at: i, doubts: [] };
    }
  }
  if (words.slice(1).every((w) => literal(w)?.startsWith("-"))) return undefined;
  return { ...suffixes(command, 0), transparent: false };
}

/** A word some input will be put into. */
function replaced(word: Word, mark: string | undefined): Word {
  const text = literal(word);
  if (mark === undefined || text === undefined) return word;
  return mark === "" || text.includes(mark) ? { ...word, parts: [ONE] } : word;
}

/** The first word that is no flag: a rule that spells it vouches for what follows. */
function operand(command: Command): { at?: number } {
  const at = command.words.findIndex((w, i) => i > 0 && !w.source.startsWith("-"));
  return at > 0 ? { at } : {};
}

/** A command made of some words of another; redirections were checked with that one. */
function plain(command: Command, words: readonly Word[]): Command {
  return { ...command, words, assignments: [], redirects: [] };
}

/** Every place the command could start at, and every script a word could be. */
function suffixes(command: Command, depth: number): Omit<Runs, "transparent"> {
  const { words } = command;
  const commands: Command[] = words.slice(1).map((_, i) => plain(command, words.slice(i + 1)));
  for (const word of words.slice(1)) {
    const text = literal(word);
    if (text === undefined || !/[\s$`;|&]/.test(text)) continue;
    const line = readCommandLine(text, { depth });
    commands.push(...line.commands);
    if (line.unreadable !== undefined || depth > 8) return { commands, unsure: "anything", doubts: [] };
  }
  return { commands, unsure: "inner", doubts: [] };
}

/** A script in a file is a command by its name; what comes through a descriptor may be anything. */
function runFile(command: Command, at: number): Runs {
  const text = literal(command.words[at]);
  if (text === undefined || /^-|^\/(?:dev|proc)\//.test(text)) return { ...ANYTHING, transparent: false };
  return { commands: [plain(command, command.words.slice(at))], transparent: false, at, doubts: [] };
}

/** The script is the first word that is no option, also behind `-c`: `sh -c -e 'x'` runs x. */
function runShell(command: Command, posix: boolean, transparent: boolean, depth: number): Runs {
  const { words } = command;
  let script = false;
  for (let i = 1; i < words.length; i++) {
    const text = literal(words[i]);
    if (text === undefined) break;
    if (/^-[eulx]*c$/.test(text)) script = true;
    else if (text === "-o" && /^(?:pipefail|errexit|nounset)$/.test(literal(words[i + 1]) ?? "")) i++;
    else if (/^-[eux]+$|^--no(?:profile|rc)$/.test(text)) continue;
    else if (/^[-+]/.test(text)) break;
    else if (script) return runScript(words.slice(i, i + 1), { transparent, posix, depth });
    else return runFile(command, i);
  }
  return { ...ANYTHING, transparent: false };
}

function runScript(
  words: readonly Word[],
  { transparent, posix, depth }: { transparent: boolean; posix: boolean; depth: number },
): Runs {
  const texts = words.map((w) => literal(w));
  if (texts.includes(undefined) || depth > 8) return { ...ANYTHING, transparent: false };
  const line = readCommandLine(texts.join(" "), { posix, depth: depth + 1 });
  const unsure = line.unreadable !== undefined || line.commands.length === 0;
  return { commands: line.commands, transparent, doubts: line.doubts, ...(unsure && { unsure: "anything" }) };
}

/** Its commands and scripts that others would see as words of its own. */
function runGit(command: Command, depth: number): Runs | undefined {
  const found = gitRuns(command.words);
  if (!found) return undefined;
  const { at, scripts } = found;
  const runs = scripts.map(({ script, more }) => {
    const read = runScript([script], { transparent: false, posix: true, depth });
    const last = read.commands.at(-1);
    return last ? { ...read, commands: read.commands.with(-1, { ...last, words: [...last.words, ...more] }) } : read;
  });
  const own = at === undefined ? [] : [plain(command, command.words.slice(at))];
  return {
    commands: [...own, ...runs.flatMap(({ commands }) => commands)],
    transparent: false,
    doubts: runs.flatMap(({ doubts }) => doubts),
    ...(at !== undefined && runs.length === 0 && { at }),
    ...(runs.some(({ unsure }) => unsure !== undefined) && { unsure: "anything" }),
  };
}

function runTrap(rest: readonly Word[], posix: boolean, depth: number): Runs | undefined {
  const first = literal(rest[0]);
  if (rest.length < 2 || first === "-" || first === "" || first === "-p" || first === "-l") return undefined;
  const words = first === "--" ? rest.slice(1, 2) : rest.slice(0, 1);
  return runScript(words, { transparent: false, posix, depth });
}

/** Flags of fd that take no value may stand before the one that takes a command: `-HIx rm`, also without a blank. */
const FD_RUNS = /^(?:-[HIusigFalLp01qhV]*[xX]|--exec(?:-batch)?)$/;
const FD_RUNS_JOINED = /^(?:-[HIusigFalLp01qhV]*[xX].|--exec(?:-batch)?=)/;

function runFind(command: Command, runs: RegExp): Runs | undefined {
  const { words } = command;
  const texts = words.map((w) => literal(w));
  // An expansion could be '-exec' itself.
  if (texts.includes(undefined)) return { ...suffixes(command, 0), transparent: false };
  const commands: Command[] = [];
  for (let i = 1; i < words.length; i++) {
    if (!runs.test(texts[i]!)) continue;
    const start = i + 1;
    while (i < words.length && texts[i] !== ";" && !(texts[i] === "+" && texts[i - 1] === "{}")) i++;
    commands.push(plain(command, words.slice(start, i).map((w) => replaced(w, "{}"))));
  }
  return commands.length === 0 ? undefined : { commands, transparent: false, doubts: [] };
}
