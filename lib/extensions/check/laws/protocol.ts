import { Buffer } from "node:buffer";
import type { AnyEvent } from "../../../core/events.ts";
import { kebab } from "../../../core/names.ts";
import { hostEvent, type HostName, HOSTS } from "../../../hooks/hosts/index.ts";
import { fitting } from "../../../hooks/hosts/write-answer.ts";
import { isVerdict, isWire } from "../sample-events.ts";
import type { Timing, Violation } from "../check-report.ts";
import type { Probed, RanCommand } from "../subject.ts";
import { answerShape } from "./answer-shape.ts";
import { brief, canBlock, claudeName, eventName, isGate, type Judge, type Judged, violationsOf } from "./judged.ts";
import { isTelling, opinionOf, ourEvent, parsedObject, type Printed, readPrinted } from "./printed.ts";
import { isSandboxed, reliable } from "./reliable.ts";

const { fault, warning } = violationsOf("protocol", "protocol");

/** Protocol: its output is an answer to its event that its host understands. */
export const protocol: Judge = (judged) => {
  const { probed: { ran, timedOut } } = judged;
  if (timedOut) return [];
  return ran ? ofCommand(ran, judged) : ofAnswer(judged);
};

function ofCommand(ran: RanCommand, judged: Judged): Violation[] {
  const { probe, subject: { host, servedTo }, loaded } = judged;
  const reads = servedTo === undefined ? host : "claude";
  const printed = readPrinted(ran.stdout, probe.event);
  const shape = printed.form === "answer" ? answerShape(printed.json, probe.event, eventName(probe), reads) : [];
  const found = loaded.mode === "async"
    ? shape
    : [...shape, ...ofPrinted(printed, ran, reads, judged), ...ofExit(ran, printed, judged), ...beyondHost(judged)];
  return [...found, ...unusable(ran, judged, found)];
}

/** Whatever a run cannot use is a fault, also where no rule above has a better word for it. */
function unusable(ran: RanCommand, judged: Judged, found: readonly Violation[]): Violation[] {
  const isKnown = [...found, ...reliable(judged)].some(({ severity }) => severity === "fault");
  const opinion = isKnown || isSandboxed(ran.stderr) ? {} : opinionOf(ran, judged.probe.event, judged.subject);
  return opinion instanceof Error ? [unreadable(opinion.message)] : [];
}

function unreadable(why: string): Violation {
  const message = `Its answer cannot be read: ${brief(why, 160)}`;
  return fault("unreadable-answer", message, "answer with one of the verdicts of its event");
}

function ofPrinted(
  printed: Printed,
  { stdout, stderr, code }: RanCommand,
  host: HostName,
  { probe }: Judged,
): Violation[] {
  const event = eventName(probe);
  const said = brief(stdout, 70);
  switch (printed.form) {
    case "surrounded": {
      const message = `There is text ${printed.where} its JSON, so ${host} ignores it: ${said}`;
      return [fault("text-around-json", message, "print only the object; text for people goes to stderr")];
    }
    case "broken":
      return [fault("invalid-json", `Its JSON is not valid: ${said}`, "use a JSON library (jq -n, json.dumps)")];
    case "echo": {
      const message = "It prints a piece of the event unchanged: if that is JSON, its author decides";
      return [warning("echoes-event", message, "quote it, or print it beside other words")];
    }
    case "words": {
      const message = `It prints plain text at ${event}, which ${host} treats as a failure`;
      const fails = HOSTS[host].events[event]?.wantsJson && code === 0;
      return fails ? [fault("plain-text", message, "print JSON or nothing")] : [];
    }
    case "nothing": {
      const json = parsedObject(stderr.trim());
      if (!json || !isTelling(json)) return [];
      const message = `Its JSON is on stderr, where ${host} does not read it`;
      if (code !== 2 || !canBlock(event)) return [fault("json-on-stderr", message, "print it on stdout")];
      const fix = "write only the reason to stderr, or print the JSON on stdout and exit 0";
      return [warning("json-on-stderr", `${message}: it blocks, and the model sees the raw JSON`, fix)];
    }
    case "answer":
      return [];
  }
}

/** Events at which exit code 2 shows stderr to the user. */
const SHOWN = ["SessionStart", "Setup", "SubagentStart", "SessionEnd", "CwdChanged", "FileChanged", "PostCompact"];
const DENY_PERMISSION =
  'print {"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"…"}}}';

function ofExit({ code, stdout, stderr }: RanCommand, printed: Printed, judged: Judged): Violation[] {
  const event = eventName(judged.probe);
  const name = claudeName(event);
  if (code === 0 || printed.form === "answer" || reliable(judged).length > 0 || isSandboxed(stderr)) return [];
  if (code !== 2) {
    const said = brief(stderr.trim() || stdout.trim(), 60);
    if (isGate(event) || name === "Stop" || name === "SubagentStop") {
      const message = `It exits with code ${code} and says '${said}': only code 2 blocks, so this lets it through`;
      return [fault("exit-1", message, "exit 2 to block, exit 0 to let it through")];
    }
    const message = `It exits with code ${code}, and the model does not see '${said}'`;
    return [fault("exit-code", message, "exit 2 passes stderr to the model, exit 0 says that all is well")];
  }
  if (name === "PermissionRequest") {
    return [fault("no-effect", "It exits with code 2, which PermissionRequest ignores", DENY_PERMISSION)];
  }
  if (!canBlock(event)) {
    const message = `It exits with code 2, but nothing can be refused at ${event}`;
    return SHOWN.includes(event) ? [] : [warning("no-effect", message, "exit 0")];
  }
  if (stderr.trim() !== "") return [];
  const lost = stdout.trim() === "" ? "" : " (stdout is ignored)";
  const message = `It exits with code 2 and writes nothing to stderr${lost}: the model does not learn why`;
  return [fault("no-reason", message, "write the reason to stderr before exit 2")];
}

/** Of a hook that our own front ends read. */
function ofAnswer(judged: Judged): Violation[] {
  const { probed: { failure, opinion }, probe, subject, loaded } = judged;
  const event = eventName(probe);
  if (failure?.at === "read") {
    if (subject.kind === "prompt" && !isVerdict(probe.says)) return [];
    return [unreadable(failure.message)];
  }
  if (opinion?.decision === "deny" && !canBlock(event) && event !== "PermissionRequest" && event !== "SubagentStart") {
    return [fault("no-effect", `It denies, but nothing can be refused at ${event}`, "return nothing there")];
  }
  if (loaded.mode === "gate" && opinion?.decision === "deny" && !opinion.reason?.trim()) {
    return [warning("no-reason", "It denies without a reason: the model does not learn why", "give a reason")];
  }
  return [...ofDefinition(judged), ...beyondHost(judged)];
}

/** The command of a definition answers with one object; anything else is ignored. */
function ofDefinition({ probed: { printed = "" }, probe, subject: { target, kind } }: Judged): Violation[] {
  if (target.type !== "definition" || kind !== "command") return [];
  const { form } = readPrinted(printed, probe.event);
  if (form === "nothing" || form === "answer") return [];
  const fix = 'print {"action": "deny", "reason": "…"} and nothing else, or nothing';
  return (form === "words" || form === "echo") && !/\{\s*"(?:action|reason)"/.test(printed)
    ? [warning("plain-text", `It prints plain text, which is ignored: ${brief(printed, 70)}`, fix)]
    : [fault("text-around-json", `It does not print exactly one object, so it is ignored: ${brief(printed, 70)}`, fix)];
}

/** What a hook of ours does and the host of `--for` cannot: there it fails, or never runs. */
function beyondHost({ probed: { opinion, inputs }, probe, subject }: Judged): Violation[] {
  const { servedTo: host = "claude" } = subject;
  if (host === "claude") return [];
  const event = eventName(probe);
  if (hostEvent(host, kebab(event).replace(/-failure$/, "")) === undefined) {
    return [fault("never-runs", `${host} has no event like ${event}: there it never runs`, "choose an event it has")];
  }
  if (!opinion) return [];
  try {
    const asked = inputs?.length ? { ...opinion, contexts: [{ text: inputs.join("\n") }] } : opinion;
    const fired = isWire(subject) ? ourEvent(probe.event, subject.host) : probe.event as unknown as AnyEvent;
    const { decision } = fired ? fitting(asked, fired, HOSTS[host]) : opinion;
    const message = `It asks, but ${host} has no user to ask: there it refuses`;
    return opinion.decision === "ask" && decision === "deny"
      ? [warning("unsupported-by-host", message, "deny with a reason, or let it pass")]
      : [];
  } catch (error) {
    const why = (error as Error).message.replace(/^Cannot use the answer[^:]*?as /, "");
    const fix = `answer with what ${host} can do at ${event}`;
    return [fault("unsupported-by-host", `${host} cannot carry out its answer: ${why}`, fix)];
  }
}

const unsafe = violationsOf("safe", "unsafe");

/** Safe: it runs nothing of the event, keeps secrets to itself, writes only in its workspace, and says little. */
export const safe: Judge = (judged) => [
  ...shellInjection(judged),
  ...secretLeak(judged),
  ...writesOutside(judged),
  ...longOutput(judged),
];

/** Hosts pass on this many characters and put the rest into a file. */
const MOST_CHARACTERS = 10_000;
/** The answer to a larger event may well be long. */
const SMALL_EVENT = 4_000;

function spoken({ opinion = {}, inputs = [] }: Probed): { readonly [name: string]: string } {
  return {
    "additional context": (opinion.contexts ?? []).map((said) => said.text).join("\n"),
    "reason": opinion.decision === undefined ? "" : opinion.reason ?? "",
    "input": inputs.join("\n"),
  };
}

function longOutput(judged: Judged): Violation[] {
  const [name, text] = Object.entries(spoken(judged.probed)).find(([, said]) => said.length > MOST_CHARACTERS) ?? [];
  if (name === undefined) return [];
  const small = JSON.stringify(judged.probe.event).length < SMALL_EVENT;
  const grows = small ? "" : " and grows with the event";
  const message = `Its ${name} has ${text!.length} characters${grows}: hosts pass on ${MOST_CHARACTERS}`;
  return [(small ? unsafe.fault : unsafe.warning)("long-output", message, "cut it to what the model needs")];
}

function writesOutside({ probed: { changed = [], ran, failure } }: Judged): Violation[] {
  const outside = changed.find((path) => path.startsWith("outside/"));
  const fix = "write to the project or to $TMPDIR";
  if (outside !== undefined) {
    const path = `/tmp/${outside.slice("outside/".length)}`;
    return [unsafe.warning("writes-outside", `It writes ${path}, outside the workspace`, fix)];
  }
  const said = `${ran?.stderr ?? ""}${failure?.message ?? ""}`;
  if (said === "" || !isSandboxed(said)) return [];
  return [
    /Read-only file system|EROFS/.test(said)
      ? unsafe.warning("writes-outside", `It writes outside the workspace: ${brief(said, 80)}`, fix)
      : unsafe.warning("needs-network", `It fails without network: ${brief(said, 60)}`, "answer without it too"),
  ];
}

function secretLeak({ probed, probe, secrets }: Judged): Violation[] {
  const { ran, opinion, inputs, printed } = probed;
  const all = `${ran?.stdout ?? ""}\n${ran?.stderr ?? ""}\n${JSON.stringify([opinion, inputs])}\n${printed ?? ""}`;
  const event = JSON.stringify(probe.event);
  const shown = (secret: string) =>
    [secret, Buffer.from(secret).toString("base64").slice(0, -4)].some((text) => all.includes(text));
  if (!secrets.some((secret) => shown(secret) && !event.includes(secret))) return [];
  const message = "It shows a secret of its environment in its output";
  return [unsafe.fault("secret-leak", message, "do not print the environment")];
}

/** The canary appears only if a shell ran text of the event. */
function shellInjection({ probed: { changed = [] }, probe }: Judged): Violation[] {
  if (!changed.includes("canary")) return [];
  const gate = isGate(eventName(probe)) ? ", before anyone has allowed it" : "";
  const message = `It runs text of the event in a shell${gate}: a command or a file name decides what is run`;
  return [unsafe.fault("shell-injection", message, "never pass a field to eval, sh -c or an unquoted expansion")];
}

const SLOW_MS = 1000;

/** What is said of a hook that is slow as a rule. */
export function slow({ p50 }: Timing): Violation | undefined {
  if (p50 <= SLOW_MS) return undefined;
  const message = `Half of its calls take longer than ${(p50 / 1000).toFixed(1)} s, and the agent waits for each`;
  const fix = "do less, cache what does not change, or make it async";
  return violationsOf("safe", "slow").warning("answers", message, fix);
}
