import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { compileMatcher } from "../../../core/match.ts";
import { shellWord } from "../../../core/shown.ts";
import type { Host } from "../../../hooks/serving/from-host.ts";
import type { Handler } from "../../../hooks/setting/handler.ts";
import { matchesIf } from "../../../permissions/rules.ts";
import { copiesFor, copiesNamed, scriptTexts } from "./_copies.ts";
import { matcherMistake } from "./matcher.ts";
import { oddTimeout } from "./_odd-timeout.ts";
import { unknownFields } from "./_unknown-fields.ts";
import { unsetNames } from "./_unset-names.ts";
import type { Subject } from "../subject.ts";

/** What a settings file belongs to. */
export interface From {
  readonly shown: string;
  readonly host: Host;
  readonly project: string;
  readonly home: string;
  readonly plugin: string | undefined;
  /** The folder of the skill that brings the hook. */
  readonly skill?: string;
}

/** One hook, as settings list it. */
interface Listed {
  readonly name: string;
  readonly event: string;
  readonly matcher: unknown;
  readonly handler: Handler | { readonly unsupported: string };
}

type Command = Handler & { readonly type: "command" };

/** One hook of settings as what is to be checked. */
export function settingsSubject(
  { name, event, matcher, handler }: Listed,
  from: From,
): Subject {
  const { shown, host, project, plugin, skill } = from;
  const type = "unsupported" in handler ? handler.unsupported : handler.type;
  const pattern = typeof matcher === "string" && matcher !== "" && matcher !== "*" ? matcher : undefined;
  const common = {
    name,
    path: shown,
    host,
    kind: type === "http" || type === "prompt" ? type : "command",
    text: "",
    env: {
      ...(plugin !== undefined && { CLAUDE_PLUGIN_ROOT: plugin, PLUGIN_ROOT: plugin, CLAUDE_PLUGIN_DATA: "" }),
      ...(skill !== undefined && { CLAUDE_SKILL_DIR: skill }),
    },
    visible: [plugin ?? project, ...(skill === undefined ? [] : [skill])],
    seen: [...seenIn(event, pattern, host), ...neverRuns(event, type, handler)],
  } as const;
  if ("unsupported" in handler || handler.type !== "command") {
    return { ...common, target: { type: "command", command: "true" }, copies: [], skip: whyNot(type) };
  }
  const { called, settled, target } = lineOf(handler, from);
  const text = `${called}\n${scriptTexts(settled, from)}`;
  return {
    ...common,
    name: `${name} ${label(called)}`,
    text,
    seen: [
      ...common.seen,
      ...unsetNames(text, host),
      ...unknownFields(text, host),
      ...oddTimeout(handler.timeout, host),
    ],
    target,
    loaded: {
      moments: [{ event, ...(pattern !== undefined && { matcher: pattern }) }],
      timeout: timeoutOf(handler, event, host),
      mode: handler.async ? "async" : "gate",
      nondeterministic: false,
      ...(handler.onFailure === "block" && { onError: "deny" as const }),
    },
    ...(handler.if !== undefined && { rule: ruleOf(handler.if) }),
    ...skipped(event, common.seen),
    runs: asTyped(settled.replaceAll(/\$\{?CLAUDE_PROJECT_DIR\}?/g, "."), handler.args !== undefined),
    copies: copiesOf([handler.command, ...handler.args ?? []].join(" "), text, from),
  };
}

function ruleOf(text: string): NonNullable<Subject["rule"]> {
  return { text, isAbout: (call) => matchesIf(text, call) };
}

/** Its line as it is written, as a person can run it, and as its host does. */
function lineOf({ command, args }: Command, { plugin, skill }: From) {
  // Gemini puts the path of an extension into the line itself.
  const inPlace = (text: string) => plugin === undefined ? text : text.replaceAll("${extensionPath}", plugin);
  const called = args ? [command, ...args].map(shellWord).join(" ") : command;
  const rooted = plugin === undefined ? called : inPlace(called).replaceAll(/\$\{?CLAUDE_PLUGIN_ROOT\}?/g, plugin);
  const settled = skill === undefined ? rooted : rooted.replaceAll(/\$\{?CLAUDE_SKILL_DIR\}?/g, skill);
  return {
    called,
    settled,
    target: { type: "command", command: inPlace(command), ...(args && { args: args.map(inPlace) }) } as const,
  };
}

/** What it finds in its project: what its words name, what its scripts name, and the packages. */
function copiesOf(words: string, text: string, from: From): Subject["copies"] {
  const { project, plugin } = from;
  if (plugin !== undefined) return copiesFor(words, from);
  const packages = join(project, "node_modules");
  return [
    ...copiesFor(words, from),
    ...copiesNamed(text, project),
    ...(existsSync(packages) ? [{ from: packages, to: "project/node_modules" }] : []),
  ];
}

/** The program a command line is about, for listings. */
function label(command: string): string {
  const words = command.split(/\s+/).map((word) => word.replaceAll(/["']/g, ""));
  // A runner of scripts is named before what it runs.
  const script = words.findLast((word) => /^[^*]+\.(?:sh|py|js|mjs|cjs|ts|rb|pl|php)$/.test(word));
  const shown = script ? basename(script) : command;
  return `(${shown.length > 40 ? `${shown.slice(0, 37)}...` : shown})`;
}

/** What the matcher itself tells. */
function seenIn(event: string, matcher: string | undefined, host: Host): Subject["seen"] {
  if (matcher === undefined) return [];
  try {
    compileMatcher(matcher);
  } catch (error) {
    return [{
      law: "lawful",
      code: "lawful.matcher",
      severity: "fault",
      message: `Its matcher '${matcher}' matches nothing: ${(error as Error).message}`,
      mend: "write names with | between them, or a regular expression",
    }];
  }
  return matcherMistake(event, matcher, host);
}

/** A line as a person can paste it after a pipe: one that ends its shell or is several commands gets a shell of its own. */
function asTyped(line: string, isProgram: boolean): string {
  return isProgram || /^[^;&|<>()`$\n]*$/.test(line) ? line : `sh -c ${shellWord(line)}`;
}

function skipped(event: string, seen: Subject["seen"]): Pick<Subject, "skip"> {
  if (seen.some(({ code }) => code === NEVER)) return { skip: "it never runs" };
  return /^session-?start$/i.test(event) && seen.some(({ severity }) => severity === "fault")
    ? { skip: "its matcher never matches" }
    : {};
}

const NEVER = "lawful.never-runs";
/** Events at which a host asks no model. */
const NO_PROMPT = /^(?:SessionStart|SessionEnd|Setup|Notification|PreCompact|PostCompact|SubagentStart)$/;

/** What the host drops without a word. */
function neverRuns(event: string, type: string, handler: object): Subject["seen"] {
  const never = (message: string, mend: string) =>
    [{ law: "lawful", code: NEVER, severity: "fault", message, mend }] as const;
  if ("if" in handler && handler.if !== undefined && !/^(?:Pre|Post)ToolUse|^Permission/.test(event)) {
    return never(`It has an 'if', which is for calls of tools: at ${event} it never runs`, "take the 'if' out");
  }
  return /^(?:prompt|agent)$/.test(type) && NO_PROMPT.test(event)
    ? never(`It is a ${type}, and the host runs none at ${event}`, "make it a command")
    : [];
}

function whyNot(type: string): string {
  switch (type) {
    case "http":
      return "its server is not asked, as a check reaches nothing outside its workspace: check the program behind it as a command";
    case "prompt":
      return "its verdicts are the model's of its host: as a .prompt.md in a folder of hooks it can be checked";
    default:
      return `hooks of type '${type}' are run by their host alone`;
  }
}

/** Seconds it has, as in its host: Gemini counts milliseconds. */
function timeoutOf({ timeout }: Command, event: string, host: Host): number {
  if (host === "gemini") return timeout === undefined ? 60 : timeout / 1000;
  if (timeout !== undefined) return timeout;
  if (event === "SessionEnd") return host === "codex" ? 1 : 1.5;
  return event === "UserPromptSubmit" ? 30 : 600;
}
