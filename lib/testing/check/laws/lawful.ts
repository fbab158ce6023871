import type { Host } from "../../../hooks/serving/from-host.ts";
import { beyondHost } from "./_for-host.ts";
import { answerShape } from "./_answer-shape.ts";
import {
  brief,
  canBlock,
  claudeName,
  eventName,
  isGate,
  type Judge,
  type Judged,
  type Violation,
  violationsOf,
} from "./judged.ts";
import { isTelling, parsedObject, type Printed, readPrinted } from "./_printed.ts";
import type { RanCommand } from "../asking/probe.ts";
import { isVerdict } from "../events.ts";
import { exitsOnPurpose, isSandboxed, total } from "./total.ts";

const { fault, warning } = violationsOf("lawful");

/** Lawful: its output is an answer to its event, in the words of its host. */
export const lawful: Judge = (judged) => {
  const { probed: { ran, timedOut } } = judged;
  if (timedOut) return [];
  return ran ? ofCommand(ran, judged) : ofAnswer(judged);
};

function ofCommand(ran: RanCommand, judged: Judged): Violation[] {
  const { probe, subject: { host }, loaded } = judged;
  const event = eventName(probe);
  const printed = readPrinted(ran.stdout, probe.event);
  const shape = printed.form === "answer" ? answerShape(printed.json, probe.event, event, host) : [];
  if (loaded.mode === "async") return printed.form === "answer" ? [...shape] : [];
  return [...shape, ...ofPrinted(printed, ran, event, host), ...ofExit(ran, printed, judged)];
}

function ofPrinted(printed: Printed, { stdout, stderr, code }: RanCommand, event: string, host: Host): Violation[] {
  switch (printed.form) {
    case "surrounded":
      return [
        fault(
          "text-around-json",
          `There is text ${printed.where} its JSON, so ${host} reads none of it: ${brief(stdout, 70)}`,
          "print the one object and nothing else; what is for people goes to stderr",
        ),
      ];
    case "broken":
      return [
        fault(
          "invalid-json",
          `It prints what looks like JSON and is none: ${brief(stdout, 70)}`,
          "build it with a JSON library (jq -n, json.dumps)",
        ),
      ];
    case "echo":
      return [
        warning(
          "echo",
          "It prints a piece of the event as it is: if that is JSON, its writer decides",
          "quote it, or print it beside words of its own",
        ),
      ];
    case "words":
      if (code === 0 && isUnheard(stdout, event, host)) return [toNobody(stdout, event)];
      return host === "codex" && /^(?:Subagent)?Stop$/.test(event) && code === 0
        ? [fault("words", `It prints words at ${event}, which codex takes for a failure`, "print JSON, or nothing")]
        : [];
    case "nothing":
    case "answer": {
      if (event === "WorktreeCreate" && code === 0 && printed.form === "nothing") {
        return [
          fault(
            "no-path",
            "It prints nothing, and the host takes the last line for the folder of the worktree: none is made",
            "make the worktree and print its path, or listen to another event",
          ),
        ];
      }
      const json = printed.form === "nothing" ? parsedObject(stderr.trim()) : undefined;
      return json && isTelling(json) ? [onStderr(host, code === 2 && canBlock(event))] : [];
    }
  }
}

/** Events whose words go to the model, or are read by the host. */
const HEARD = /^(?:SessionStart|UserPromptSubmit|UserPromptExpansion|PostModelSwitch|PreCompact|WorktreeCreate)$/;
/** How hooks speak to a model. */
const TO_MODEL =
  /\byou (?:must|should|need to)\b|\b(?:please|must) (?:fix|run|use|update|invoke|address|review)\b|\bfix (?:these|them|the|all)\b|\bclaude[,:]/i;

/** Whether words that a model is meant to read are read by nobody. */
export function isUnheard(stdout: string, event: string, host: Host): boolean {
  return host === "claude" && !/^\s*\{/.test(stdout) && !HEARD.test(event) && TO_MODEL.test(stdout);
}

export function toNobody(stdout: string, event: string): Violation {
  const stops = event === "Stop" || event === "SubagentStop";
  return warning(
    "unheard",
    `It speaks to the model in plain words, which nobody reads at ${event}: ${brief(stdout, 70)}`,
    stops
      ? 'print {"decision": "block", "reason": "…"}, once'
      : `print {"hookSpecificOutput": {"hookEventName": "${event}", "additionalContext": "…"}}`,
  );
}

/** Where it blocks all the same, the model has to make out the reason in it. */
function onStderr(host: Host, blocks: boolean): Violation {
  return (blocks ? warning : fault)(
    "json-on-stderr",
    `Its JSON goes to stderr, where ${host} does not read it${
      blocks ? ": it blocks, and the model gets it as it is" : ""
    }`,
    blocks
      ? "write the reason alone to stderr, or print the JSON on stdout and exit 0"
      : "print it on stdout, and exit 0",
  );
}

/** Events at which exit code 2 shows its stderr to a person. */
const SHOWN = ["SessionStart", "Setup", "SubagentStart", "SessionEnd", "CwdChanged", "FileChanged", "PostCompact"];

function ofExit(ran: RanCommand, printed: Printed, judged: Judged): Violation[] {
  const { code, stdout, stderr } = ran;
  const event = eventName(judged.probe);
  if (code === 0 || printed.form === "answer" || total(judged).length > 0) return [];
  if (code !== 2) return ofOtherExit(ran, event, judged);
  if (claudeName(event) === "PermissionRequest") {
    return [
      fault(
        "no-effect",
        "It exits with code 2, which PermissionRequest does not read",
        'print {"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"…"}}}',
      ),
    ];
  }
  if (!canBlock(event)) {
    return SHOWN.includes(event)
      ? []
      : [warning("no-effect", `It exits with code 2, and nothing can be refused at ${event}`, "exit 0")];
  }
  if (stderr.trim() !== "") return [];
  const lost = stdout.trim() === "" ? "" : " (stdout is not read)";
  return [
    fault(
      "empty-refusal",
      `It exits with code 2 and writes nothing to stderr${lost}: nobody learns why`,
      "write the reason to stderr before exit 2",
    ),
  ];
}

function ofOtherExit({ code, stdout, stderr }: RanCommand, event: string, judged: Judged): Violation[] {
  const said = stderr.trim() || stdout.trim();
  if (isSandboxed(stderr)) return [];
  if (said === "") {
    return !isGate(event) || !exitsOnPurpose(judged) ? [] : [
      fault(
        "exit-1",
        `It exits with code ${code} and says nothing: only code 2 blocks, so this lets it through`,
        "exit 2 to block, with the reason on stderr; exit 0 to let it through",
      ),
    ];
  }
  const name = claudeName(event);
  if (isGate(event) || name === "Stop" || name === "SubagentStop") {
    return [
      fault(
        "exit-1",
        `It exits with code ${code} and says '${brief(said, 60)}': only code 2 blocks, so this lets it through`,
        "exit 2 to block, exit 0 to let it through",
      ),
    ];
  }
  return [
    warning(
      "exit-code",
      `It exits with code ${code}, which no model hears of: '${brief(said, 60)}'`,
      "exit 2 hands stderr to the model, exit 0 says that all is well",
    ),
  ];
}

/** Of a hook that our own front ends read: their words for what is wrong are good ones. */
function ofAnswer(judged: Judged): Violation[] {
  const { probed: { failure, opinion }, probe, subject, loaded } = judged;
  const event = eventName(probe);
  if (failure?.at === "read") {
    if (subject.kind === "prompt" && !isVerdict(probe.says)) return [];
    return [
      fault(
        "answer",
        `Its answer cannot be read: ${brief(failure.message, 160)}`,
        "answer with one of the verdicts of its event",
      ),
    ];
  }
  if (opinion?.decision === "deny" && !canBlock(event) && event !== "PermissionRequest" && event !== "SubagentStart") {
    return [fault("no-effect", `It denies, and nothing can be refused at ${event}`, "return nothing there")];
  }
  if (loaded.mode === "gate" && opinion?.decision === "deny" && !opinion.reason?.trim()) {
    return [
      warning("no-reason", "It denies without a reason: the model cannot mend what it does not know", "give a reason"),
    ];
  }
  return [...ofDefinition(judged), ...beyondHost(judged)];
}

/** A definition's command answers with one object: what is none of it is dropped without a word. */
function ofDefinition({ probed: { printed = "" }, probe, subject: { target, kind } }: Judged): Violation[] {
  if (target.type !== "definition" || kind !== "command") return [];
  const { form } = readPrinted(printed, probe.event);
  if (form === "nothing" || form === "answer") return [];
  const mend = 'print {"action": "deny", "reason": "…"} and nothing else, or nothing';
  return (form === "words" || form === "echo") && !/\{\s*"(?:action|reason)"/.test(printed)
    ? [warning("words", `It prints words, which nobody reads: ${brief(printed, 70)}`, mend)]
    : [
      fault(
        "text-around-json",
        `What it prints is not one object, so nothing of it is read: ${brief(printed, 70)}`,
        mend,
      ),
    ];
}
