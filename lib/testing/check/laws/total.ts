import { triedToExit } from "../../../hooks/file/no-exit.ts";
import { brief, canBlock, eventName, isGate, type Judge, type Judged, type Violation, violationsOf } from "./judged.ts";
import type { Probed, RanCommand } from "../asking/probe.ts";
import { isVerdict } from "../events.ts";

const { fault, warning } = violationsOf("total");

/** Total: it answers every event, in time, without a crash, and leaves nothing running. */
export const total: Judge = (judged) => {
  const { probed } = judged;
  return [...late(judged), ...left(probed), ...(probed.timedOut ? [] : crashed(judged))];
};

function late({ probed, limit, loaded }: Judged): Violation[] {
  // What only waits for a network has its own name.
  if (!probed.timedOut || isSandboxed(probed.ran?.stderr ?? "")) return [];
  const seconds = limit / 1000;
  const own = loaded.timeout;
  const said = own !== undefined && own > seconds
    ? `It did not answer within ${seconds} s, the limit of this check (its own is ${own} s, and the agent would wait as long)`
    : `It did not answer within its limit of ${seconds} s`;
  return [
    fault("late", said, "answer sooner, or do the work in the background; --timeout raises the limit of the check"),
  ];
}

function left({ survivors }: Probed): Violation[] {
  if (!survivors?.length) return [];
  const count = survivors.length === 1 ? "a process" : `${survivors.length} processes`;
  return [
    fault("leaves", `It leaves ${count} running: ${brief(survivors[0]!, 60)}`, "wait for what it starts, or end it"),
  ];
}

function crashed(judged: Judged): Violation[] {
  const { probed: { failure, ran }, probe, subject } = judged;
  if (failure) {
    // A judge that gives no verdict is not the prompt's doing.
    if (failure.at === "read" || (subject.kind === "prompt" && !isVerdict(probe.says))) return [];
    if (isSandboxed(failure.message)) return [];
    if (failure.at === "start") return [cannotStart(failure.message)];
    if (failure.at === "exit" || triedToExit(failure.message)) {
      return [
        fault(
          "exits",
          `It ends the process it runs in: ${brief(failure.message)}`,
          "return, never call process.exit()",
        ),
      ];
    }
    return [
      fault(
        "crash",
        `It throws: ${brief(failure.message)}${consequence(judged)}`,
        "check that a field is there before it is read",
      ),
    ];
  }
  return ran ? ofProcess(ran, judged) : [];
}

function ofProcess(ran: RanCommand, judged: Judged): Violation[] {
  const { code, signal, stderr } = ran;
  const { subject } = judged;
  const event = eventName(judged.probe);
  if (signal !== null || (code !== null && code > 128 && code < 160)) {
    const how = signal ?? `signal ${code! - 128}`;
    return [fault("crash", `It is ended by ${how}${consequence(judged)}`, "find out what ends it")];
  }
  if (code === 126 || code === 127) {
    const needed = missing(stderr);
    return [
      needed === undefined
        ? cannotStart(brief(stderr) || brief(ran.stdout) || `exit code ${code}`, consequence(judged))
        : needs(needed, "fault", consequence(judged)),
    ];
  }
  if (code === 2 && canBlock(event)) {
    const whose = interpreterSays(stderr);
    if (whose === undefined) return [];
    return [
      fault(
        "own-exit-2",
        `Exit code 2 is not its answer but its interpreter's (${
          brief(whose, 80)
        }), and blocks all the same: it can lock a session`,
        "mend that, and exit 2 only where it means to block",
      ),
    ];
  }
  const needed = code === 0 ? missing(stderr) : undefined;
  // It goes on without an answer of what it asks: a guard then lets everything through, and nobody notices.
  if (needed !== undefined) return [needs(needed, "warning", consequence(judged))];
  if (code === 0 || isSandboxed(stderr)) return [];
  const how = `It exits with code ${code}`;
  const trace = isTraceback(stderr);
  if (trace) return [fault("crash", `${how}: ${brief(lastWords(stderr))}${consequence(judged)}`, mendOf(stderr))];
  const silent = stderr.trim() === "" && ran.stdout.trim() === "";
  if (!silent || (isGate(event) && exitsOnPurpose(judged))) return [];
  return [
    warning(
      "silent-exit",
      `${how} and says nothing: the host shows an error, and goes on`,
      /^\s*set -\w*e|errexit/m.test(subject.text)
        ? "end with exit 0 where there is nothing to say (under `set -e` any command that fails ends it: add `|| true`)"
        : "end with exit 0 where there is nothing to say (a last line such as `[ … ] && …` leaves its own code)",
    ),
  ];
}

/** Whether its text ends it with a code of its own choice: at a guard that is a refusal that refuses nothing. */
export function exitsOnPurpose({ subject: { text } }: Judged): boolean {
  return /\bexit(?:\s+|\s*\(\s*)["']?(?:1\b|\$\{?\w)/.test(text);
}

/** The program that a shell did not find. */
export function missing(stderr: string): string | undefined {
  const shell = /: (?:line )?\d+: ([\w.+-]+): (?:command )?not found$/m.exec(stderr);
  const env = /\benv: .?([\w.+-]+).?: No such file or directory$/m.exec(stderr);
  return (shell ?? env)?.[1];
}

/** Programs of one desktop or another: a hook that calls them does its work elsewhere. */
const DESKTOP =
  /^(?:osascript|say|afplay|terminal-notifier|pbcopy|pmset|notify-send|paplay|aplay|canberra-gtk-play|zenity|xdg-open|(?:powershell|pwsh|cmd|wsl-notify-send)(?:\.exe)?)$/;

function needs(program: string, severity: Violation["severity"], more: string): Violation {
  if (DESKTOP.test(program)) {
    return warning(
      "missing",
      `It needs '${program}', which only some desktops have and this machine does not${more}`,
      `look for it first: command -v ${program} >/dev/null || exit 0`,
    );
  }
  const message = `It needs '${program}', which is not installed here${more}`;
  const mend = `install ${program}, or look for it first (command -v ${program})`;
  return severity === "fault" ? fault("cannot-start", message, mend) : warning("missing", message, mend);
}

function cannotStart(why: string, more = ""): Violation {
  return fault(
    "cannot-start",
    `It cannot be started: ${brief(why)}${more}`,
    "mend the command, the path or the executable bit",
  );
}

/** What a crash means where the hook is there to guard something. */
function consequence({ probe, loaded, subject }: Judged): string {
  if (!isGate(eventName(probe))) return "";
  const denies = loaded.onError === "deny" || (subject.kind === "module" && loaded.onError === undefined);
  return denies ? "; what it guards is refused" : "; what it guards is let through: it fails open";
}

function mendOf(stderr: string): string {
  if (/KeyError|undefined|null|None|nil|NoMethod|unbound|not set/.test(stderr)) {
    return "check that a field is there before it is read";
  }
  return /JSON|parse error|Unicode|codec/i.test(stderr)
    ? "read stdin as UTF-8 JSON with a real parser"
    : "catch it, and answer";
}

/** What interpreters and programs say when they end with 2 on their own account. */
const OWN_EXIT = [
  /can't open file .*: \[Errno \d+\].*/,
  /^usage: .*\n(?:.*\n)*.*: error: .*/m,
  /.*[Ss]yntax error.*|.*unexpected EOF while looking for matching.*/,
  /.*: (?:0: )?(?:Illegal option|Illegal number|illegal option|invalid option|bad substitution|Bad substitution).*/,
  /.*: parameter not set.*/,
  /.*: (?:integer|unary|binary|arithmetic) (?:expression|operator) expected.*/,
  /.*arithmetic expression: .*/,
  /.*: \d+: (?:cannot open|cannot create) .*/,
  /^.{0,80}: (?:cannot access|can't open|No such file or directory).*/m,
  /^(?:grep|egrep|ls|diff|make|sed|awk|jq|tr|cmp|rg)(?:\[\d+\])?: .*/m,
  /^goroutine \d+ \[running\].*/m,
  /^panic: .*/m,
  /Can't open perl script .*/,
  /^Unknown option: .*/m,
];

function interpreterSays(stderr: string): string | undefined {
  for (const pattern of OWN_EXIT) {
    const found = pattern.exec(stderr)?.[0];
    if (found !== undefined) return found.trim().split("\n").at(-1)!;
  }
  return undefined;
}

/** What the runtimes print when a program fails, and shells when a line of it does. */
const TRACEBACK = [
  /Traceback \(most recent call last\)/,
  /^\s+at .+:\d+:\d+\)?$/m,
  /^(?:Uncaught )?[A-Z]\w+(?:Error|Exception)\b.*:/m,
  /\bat \S+ line \d+[.,]/,
  /\((?:NoMethodError|KeyError|TypeError|NameError|JSON::ParserError|RuntimeError|ArgumentError)\)/,
  /^.*: line \d+: .*/m,
  /^\S+: \d+: .*(?:not found|parameter not set|Syntax error|bad substitution|Illegal number|cannot open|arithmetic)/mi,
  /^(?:jq|sed|awk|grep|node|python3?|ruby|perl|bash|sh|tr|cut|xargs|git|cat|mkdir|touch|date|head|env|realpath)(?:\[\d+\])?: /m,
  /^panic: |^fatal: |^thread '.*' panicked/m,
  /No such file or directory|command not found|Permission denied/,
];

function isTraceback(stderr: string): boolean {
  return TRACEBACK.some((pattern) => pattern.test(stderr));
}

function lastWords(stderr: string): string {
  const lines = stderr.trim().split("\n").filter((line) => line.trim() !== "");
  const telling = lines.findLast((line) => /Error|Exception|error|not found|denied|cannot|line \d+/.test(line));
  return telling ?? lines.at(-1) ?? "";
}

/** How programs say that there is no network, or that a folder cannot be written. */
const SANDBOXED = new RegExp(
  [
    ...[
      "Read-only file system",
      "EROFS",
      "Network is unreachable",
      "ENETUNREACH",
      "EAI_AGAIN",
      "ENOTFOUND",
      "getaddrinfo",
    ],
    ...["[Cc]ould not resolve", "Temporary failure in name resolution", "[Nn]ame or service not known", "ECONNREFUSED"],
    ...["ConnectionRefused", "Connection refused", "fetch failed", "Unable to connect", "error sending request"],
    ...["urlopen error", "Failed to connect", "Couldn't connect", "wget: unable to resolve"],
  ].join("|"),
);

/** What fails only because a check has no network and no writable machine. */
export function isSandboxed(words: string): boolean {
  return SANDBOXED.test(words);
}
