import { Buffer } from "node:buffer";
import type { Violation } from "../report.ts";
import { brief, canBlock, claudeName, eventName, isGate, type Judge, type Judged, violationsOf } from "./judged.ts";
import { parsedObject } from "./printed.ts";
import { isSandboxed } from "./reliable.ts";

const { fault, warning } = violationsOf("safe", "unsafe");

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

/** What the model would read, by name. */
function spoken({ probed, probe }: Judged): { readonly [name: string]: string } {
  const { opinion, ran, inputs } = probed;
  const event = eventName(probe);
  const text = (value: unknown) => typeof value === "string" ? value : "";
  if (ran) {
    const json = parsedObject(ran.stdout.trim());
    const inside = (json?.hookSpecificOutput ?? {}) as { readonly [key: string]: unknown };
    return {
      "additional context": json ? text(inside.additionalContext) : readsStdout(event) ? ran.stdout : "",
      "reason": text(json?.reason) || text(inside.permissionDecisionReason),
      "stderr": ran.code === 2 && canBlock(event) ? ran.stderr : "",
    };
  }
  return {
    "additional context": (opinion?.contexts ?? []).map((said) => said.text).join("\n"),
    "reason": opinion?.decision === undefined ? "" : opinion.reason ?? "",
    "input": inputs?.join("\n") ?? "",
  };
}

/** Whether the model reads plain stdout at an event. */
function readsStdout(event: string): boolean {
  return ["SessionStart", "UserPromptSubmit", "UserPromptExpansion", "PostModelSwitch"].includes(claudeName(event));
}

function longOutput(judged: Judged): Violation[] {
  const [name, text] = Object.entries(spoken(judged)).find(([, said]) => said.length > MOST_CHARACTERS) ?? [];
  if (name === undefined) return [];
  const small = JSON.stringify(judged.probe.event).length < SMALL_EVENT;
  const grows = small ? "" : " and grows with the event";
  const message = `Its ${name} has ${text!.length} characters${grows}: hosts pass on ${MOST_CHARACTERS}`;
  return [(small ? fault : warning)("long-output", message, "cut it to what the model needs")];
}

function writesOutside({ probed: { changed = [], ran, failure } }: Judged): Violation[] {
  const outside = changed.find((path) => path.startsWith("outside/"));
  const fix = "write to the project or to $TMPDIR";
  if (outside !== undefined) {
    const path = `/tmp/${outside.slice("outside/".length)}`;
    return [warning("writes-outside", `It writes ${path}, outside the workspace`, fix)];
  }
  const said = `${ran?.stderr ?? ""}${failure?.message ?? ""}`;
  if (said === "" || !isSandboxed(said)) return [];
  return [
    /Read-only file system|EROFS/.test(said)
      ? warning("writes-outside", `It writes outside the workspace: ${brief(said, 80)}`, fix)
      : warning("needs-network", `It fails without network: ${brief(said, 60)}`, "answer without it too"),
  ];
}

function secretLeak({ probed, probe, secrets }: Judged): Violation[] {
  const { ran, opinion, inputs, printed } = probed;
  const all = `${ran?.stdout ?? ""}\n${ran?.stderr ?? ""}\n${JSON.stringify([opinion, inputs])}\n${printed ?? ""}`;
  const event = JSON.stringify(probe.event);
  const shown = (secret: string) =>
    [secret, Buffer.from(secret).toString("base64").slice(0, -4)].some((text) => all.includes(text));
  return secrets.some((secret) => shown(secret) && !event.includes(secret))
    ? [fault("secret-leak", "It shows a secret of its environment in its output", "do not print the environment")]
    : [];
}

/** The canary appears only if a shell ran text of the event. */
function shellInjection({ probed: { changed = [] }, probe }: Judged): Violation[] {
  if (!changed.includes("canary")) return [];
  const gate = isGate(eventName(probe)) ? ", before anyone has allowed it" : "";
  const message = `It runs text of the event in a shell${gate}: a command or a file name decides what is run`;
  return [fault("shell-injection", message, "never pass a field to eval, sh -c or an unquoted expansion")];
}
