import type { Host } from "../../../hooks/serving/from-host.ts";
import { GEMINI } from "../laws/judged.ts";
import { SHAPES } from "../laws/shapes.ts";
import { TOOLS } from "./matcher.ts";

/** Names of moments as others write them, longest first: `subagent-stop` ends like `stop`. */
const EVENTS = [
  ...["PermissionRequest", "UserPromptSubmit", "PostToolUseFailure", "SubagentStart", "SubagentStop", "SessionStart"],
  ...["PostToolUse", "PreToolUse", "PreCompact", "SessionEnd", "Notification"],
];

/** When a script of another host runs, as far as its name or its text tells: `Stop`, `PreToolUse@Bash`. */
export function toldEvent(name: string, text: string): string | undefined {
  const event = byName(name, text) ?? byAnswer(text) ?? byGemini(text) ?? byWords(text) ?? byFields(text);
  return event && `${event}${toolsIn(text, event)}`;
}

/** Whose script it is, where the folder it lies in or the name it answers with tells. */
export function toldHost(path: string, text: string): Host | undefined {
  const [, folder] = /\/\.(claude|codex|gemini)\//.exec(path) ?? [];
  if (folder !== undefined) return folder as Host;
  return Object.hasOwn(GEMINI, answered(text) ?? "") ? "gemini" : undefined;
}

function byName(name: string, text: string): string | undefined {
  const words = name.replace(/\.\w+$/, "").replaceAll(/([a-z])([A-Z])/g, "$1-$2").toLowerCase().split(/[^a-z]+/);
  const whole = words.join("");
  const found = EVENTS.find((event) => whole.includes(event.toLowerCase()));
  const gemini = Object.keys(GEMINI).find((event) => whole.includes(event.toLowerCase()));
  // Many say `session end` where the agent stops; only there can a hook block.
  if (found === "SessionEnd" && /stop_hook_active|["']decision["']\s*:\s*["']block/.test(text)) return "Stop";
  return found ?? (words.includes("stop") ? "Stop" : gemini && GEMINI[gemini]);
}

/** What it answers names its event, and only some hooks are told whether they blocked before. */
function byAnswer(text: string): string | undefined {
  const named = answered(text);
  if (named !== undefined && Object.hasOwn(SHAPES.claude.specific, named)) return named;
  return /stop_hook_active/.test(text) ? "Stop" : undefined;
}

function answered(text: string): string | undefined {
  return /hookEventName["']?\s*[:=]\s*["'](\w+)["']/.exec(text)?.[1];
}

/** The one event of Gemini that it names. */
function byGemini(text: string): string | undefined {
  const named = Object.keys(GEMINI).filter((event) => new RegExp(`\\b${event}\\b`).test(text));
  return named.length === 1 ? GEMINI[named[0]!] : undefined;
}

function byWords(text: string): string | undefined {
  const counts = EVENTS.map((event) => [event, text.split(new RegExp(`\\b${event}\\b`)).length - 1] as const)
    .filter(([, count]) => count > 0).sort(([, a], [, b]) => b - a);
  if (counts.length > 0) return counts[0]![1] === counts[1]?.[1] ? undefined : counts[0]![0];
  return /\bstop[ -]hook\b/i.test(text) ? "Stop" : undefined;
}

/** The fields of an event that only some have. */
function byFields(text: string): string | undefined {
  if (/\btool_response\b/.test(text)) return "PostToolUse";
  if (/\btool_input\b|\btool_name\b/.test(text)) {
    const refuses = /exit[ (]+2\b|\bblock|\bdeny/i.test(text);
    return !refuses && /prettier|eslint|\bformat|\blint\b|gofmt|rustfmt|\bruff\b/i.test(text)
      ? "PostToolUse"
      : "PreToolUse";
  }
  if (/\bnotification_type\b/.test(text)) return "Notification";
  return /["'.]prompt["']?(?:\]|\)|,|\s)/.test(text) ? "UserPromptSubmit" : undefined;
}

/** The tools a script asks for by name or by their fields, where it is asked about tools: settings would name them too. */
function toolsIn(text: string, event: string): string {
  if (!/ToolUse|PermissionRequest/.test(event)) return "";
  const named = TOOLS.filter((tool) => new RegExp(`["'\`|(]${tool}["'\`|)]`).test(text));
  if (named.length > 0) return `@${named.join("+")}`;
  const commands = /["'.]command\b/.test(text);
  const files = /["'.](?:file_path|notebook_path)\b/.test(text);
  return commands === files ? "" : commands ? "@Bash" : "@Edit+Write";
}
