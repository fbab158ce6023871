import { crashWords } from "../../../process/crash-words.ts";
import { saysDenial } from "../constants.ts";
import { isVerdict } from "../sample-events.ts";
import type { Violation } from "../check-report.ts";
import type { Probed, RanCommand } from "../subject.ts";
import { brief, canBlock, eventName, isGate, type Judge, type Judged, violationsOf } from "./judged.ts";

const { fault, warning } = violationsOf("reliable", "fails");

/** Reliable: it answers every event, in time, without a crash, and leaves nothing running. */
export const reliable: Judge = (judged) => {
  const { probed } = judged;
  return [...late(judged), ...leftOver(probed), ...(probed.timedOut ? [] : crashed(judged))];
};

function late({ probed, limit, loaded }: Judged): Violation[] {
  // A hook that waits for the network has a finding of its own.
  if (!probed.timedOut || isSandboxed(probed.ran?.stderr ?? "")) return [];
  const seconds = limit / 1000;
  const own = loaded.timeout;
  const said = own !== undefined && own > seconds
    ? `It did not answer within ${seconds} s, the limit of this check (its own limit is ${own} s, and the agent would wait that long)`
    : `It did not answer within its limit of ${seconds} s`;
  const fix = "answer sooner, or do the work in the background; --timeout raises the limit of the check";
  return [fault("timeout", said, fix)];
}

function leftOver({ survivors }: Probed): Violation[] {
  if (!survivors?.length) return [];
  const count = survivors.length === 1 ? "a process" : `${survivors.length} processes`;
  const message = `It leaves ${count} running: ${brief(survivors[0]!, 60)}`;
  return [fault("leftover-process", message, "wait for what it starts, or end it")];
}

function crashed(judged: Judged): Violation[] {
  const { probed: { failure, ran }, probe, subject } = judged;
  if (!failure) return ran ? ofProcess(ran, judged) : [];
  // That a model gives no verdict is not the fault of the prompt.
  if (failure.at === "read" || (subject.kind === "prompt" && !isVerdict(probe.says))) return [];
  if (isSandboxed(failure.message)) return [];
  if (failure.at === "start") return [cannotStart(failure.message)];
  const needed = missing(failure.message);
  if (needed !== undefined) return [missingProgram(needed, judged, fault)];
  if (failure.at === "exit") {
    return [fault("ends-process", brief(failure.message), "return, never call process.exit()")];
  }
  return [crash("throws", failure.message, judged)];
}

function ofProcess({ code, signal, stderr, stdout }: RanCommand, judged: Judged): Violation[] {
  if (signal !== null || (code !== null && code > 128 && code < 160)) {
    const how = signal ?? `signal ${code! - 128}`;
    return [fault("crash", `It is ended by ${how}${consequence(judged)}`, "find out what ends it")];
  }
  const needed = missing(stderr);
  if (needed !== undefined && code !== 2) {
    // At exit code 0 it goes on without the answer of the program: a guard then lets everything through.
    const isOpen = isGate(eventName(judged.probe)) && judged.loaded.mode === "gate" && saysDenial(judged.subject);
    return [missingProgram(needed, judged, code === 0 && !isOpen ? warning : fault)];
  }
  if (code === 126 || code === 127) {
    return [cannotStart(brief(stderr) || brief(stdout) || `exit code ${code}`, consequence(judged))];
  }
  if (code === 2 && canBlock(eventName(judged.probe))) {
    const whose = OWN_EXIT.map((pattern) => pattern.exec(stderr)?.[0]).find((found) => found !== undefined);
    if (whose === undefined) return [];
    const words = brief(whose.trim().split("\n").at(-1)!, 80);
    const message = `Exit code 2 comes from its interpreter (${words}) and blocks all the same: it can lock a run`;
    return [fault("interpreter-exit-2", message, "correct that error, and exit 2 only to block")];
  }
  if (code === 0 || isSandboxed(stderr)) return [];
  const said = crashWords(stderr);
  if (said !== undefined) return [crash(`exits with code ${code}`, said, judged)];
  if (stderr.trim() !== "" || stdout.trim() !== "") return [];
  const message = `It exits with code ${code} and says nothing: the host shows an error and goes on`;
  const fix = "end with exit 0 if there is nothing to say (a last line such as `[ … ] && …` leaves its own code)";
  return [fault("silent-exit", message, `${fix}; to block, exit 2 with the reason on stderr`)];
}

/** How languages say that a field is missing or of another type, or that the input cannot be read. */
const INPUT =
  /\b(?:Key|Type|Attribute|Index|Name|Reference|Syntax|Unicode\w+)Error\b|JSON|undefined|\bn(?:ull|il)\b|not set|jq:/;

function crash(how: string, said: string, judged: Judged): Violation {
  const fix = INPUT.test(said)
    ? "check that a field is there before it is read, and parse stdin as UTF-8 JSON"
    : "prevent what it says, or catch it: refuse, or say that nothing was looked at";
  return fault("crash", `It ${how}: ${brief(said)}${consequence(judged)}`, fix);
}

function missingProgram(needed: string, judged: Judged, as: typeof fault): Violation {
  const message = `It needs '${needed}', which is not installed here${consequence(judged)}`;
  return as("missing-program", message, `install ${needed} where the hook runs, or look for it before it is used`);
}

/** How shells, env, Python, Node, Deno, Bun, Perl and Ruby say that they did not find a program or a package. */
const MISSING = [
  /: (?:line )?\d+: ([\w.+-]+): (?:command )?not found$/m,
  /\benv: .?([\w.+-]+).?: No such file or directory$/m,
  /\bin _execute_child\b[^]*^FileNotFoundError: .*'([\w./+-]+)'$/m,
  /^ModuleNotFoundError: No module named '([\w.]+)'|\bCannot find (?:module|package) '([\w@][^']*)'/m,
  /\bspawn(?:Sync)? ([\w.+-]+) ENOENT\b|\bFailed to spawn '([\w.+-]+)'/,
  /\bExecutable not found in \$PATH: "([\w.+-]+)"|\bcommand not found: ([\w.+-]+)$/m,
  /\bCan't exec "([\w.+-]+)"|\bNo such file or directory - ([\w.+-]+) \(Errno::ENOENT\)/,
];

function missing(said: string): string | undefined {
  const [, ...names] = MISSING.map((pattern) => pattern.exec(said)).find((found) => found !== null) ?? [];
  return names.find((name) => name !== undefined);
}

function cannotStart(why: string, more = ""): Violation {
  const message = `It cannot be started: ${brief(why)}${more}`;
  return fault("cannot-start", message, "correct the command, the path or the executable bit");
}

/** What a crash means if the hook guards something. */
function consequence({ probe, loaded, subject }: Judged): string {
  if (!isGate(eventName(probe))) return "";
  const denies = loaded.onError === "deny" || (subject.kind === "module" && loaded.onError === undefined);
  return denies ? "; what it guards is refused" : "; what it guards is let through: it fails open";
}

/** What interpreters and programs print when they exit with 2 by themselves. */
const OWN_EXIT = [
  /can't open file .*: \[Errno \d+\].*|Can't open perl script .*/,
  /^usage: .*\n(?:.*\n)*.*: error: .*/m,
  /.*[Ss]yntax error.*|.*unexpected EOF while looking for matching.*/,
  /.*: (?:0: )?(?:[Ii]llegal option|Illegal number|invalid option|[Bb]ad substitution|parameter not set).*/,
  /.*: (?:integer|unary|binary|arithmetic) (?:expression|operator) expected.*|.*arithmetic expression: .*/,
  /.*: \d+: (?:cannot open|cannot create) .*|^.{0,80}: (?:cannot access|can't open|No such file or directory).*/m,
  /^(?:grep|egrep|ls|diff|make|sed|awk|jq|tr|cmp|rg)(?:\[\d+\])?: .*|^Unknown option: .*/m,
  /^goroutine \d+ \[running\].*|^panic: .*/m,
];

const SANDBOXED = new RegExp(
  [
    ...["Read-only file system", "EROFS", "Network is unreachable", "ENETUNREACH", "EAI_AGAIN", "ENOTFOUND"],
    ...["getaddrinfo", "[Cc]ould not resolve", "Temporary failure in name resolution", "ECONNREFUSED", "fetch failed"],
    ...["[Nn]ame or service not known", "ConnectionRefused", "Connection refused", "Unable to connect"],
    ...["urlopen error", "error sending request", "Failed to connect", "Couldn't connect", "wget: unable to resolve"],
  ].join("|"),
);

/** Whether a program fails only because a check has no network and a read-only machine. */
export function isSandboxed(words: string): boolean {
  return SANDBOXED.test(words);
}
