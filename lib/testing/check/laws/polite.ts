import { Buffer } from "node:buffer";
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
import { parsedObject } from "./_printed.ts";
import { isSandboxed } from "./total.ts";

const { fault, warning } = violationsOf("polite");

/** Polite: what it says is short, what it writes stays in its workspace, and it keeps secrets to itself. */
export const polite: Judge = (judged) => [
  ...tooLong(judged),
  ...writesOutside(judged),
  ...leaks(judged),
  ...executes(judged),
];

/** Hosts hand on so many characters and put the rest into a file. */
const MOST_CHARACTERS = 10_000;
/** An event beyond this size may well have a long answer. */
const SMALL_EVENT = 4_000;

/** What the model would read, by what it is called. */
function spoken({ probed, probe }: Pick<Judged, "probed" | "probe">): { readonly [name: string]: string } {
  const { opinion, ran, inputs } = probed;
  const event = eventName(probe);
  const text = (value: unknown) => typeof value === "string" ? value : "";
  if (ran) {
    // As it was printed: of what is too long a host hands on a piece.
    const json = parsedObject(ran.stdout.trim());
    const inside = (json?.hookSpecificOutput ?? {}) as { readonly [key: string]: unknown };
    return {
      "additional context": json ? text(inside.additionalContext) : hearsWords(event) ? ran.stdout : "",
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

/** Events whose plain stdout is read by the model. */
function hearsWords(event: string): boolean {
  return ["SessionStart", "UserPromptSubmit", "UserPromptExpansion", "PostModelSwitch"].includes(claudeName(event));
}

function tooLong(judged: Judged): Violation[] {
  const [name, text] = Object.entries(spoken(judged)).find(([, said]) => said.length > MOST_CHARACTERS) ?? [];
  if (name === undefined) return [];
  const small = JSON.stringify(judged.probe.event).length < SMALL_EVENT;
  const said = `Its ${name} has ${text!.length} characters${
    small ? "" : ", as long as the event makes it"
  }: hosts hand on ${MOST_CHARACTERS}`;
  return [(small ? fault : warning)("too-long", said, "cut what it says to what the model needs")];
}

function writesOutside({ probed: { changed = [], ran, failure } }: Judged): Violation[] {
  const outside = changed.find((path) => path.startsWith("outside/"));
  if (outside !== undefined) {
    const path = `/tmp/${outside.slice("outside/".length)}`;
    return [warning("writes", `It writes ${path}, outside the workspace`, "write to $TMPDIR or to the project")];
  }
  const said = `${ran?.stderr ?? ""}${failure?.message ?? ""}`;
  if (said === "" || !isSandboxed(said)) return [];
  const network = !/Read-only file system|EROFS/.test(said);
  return [
    network
      ? warning(
        "network",
        `It needs the network, which a check does not have: ${brief(said, 60)}`,
        "answer without it too",
      )
      : warning("writes", `It writes outside the workspace: ${brief(said, 80)}`, "write to the project or to $TMPDIR"),
  ];
}

function leaks({ probed, probe, secrets }: Judged): Violation[] {
  const { ran, opinion, inputs, printed } = probed;
  const all = `${ran?.stdout ?? ""}\n${ran?.stderr ?? ""}\n${JSON.stringify([opinion, inputs])}\n${printed ?? ""}`;
  const found = secrets.find((secret) =>
    (all.includes(secret) || all.includes(encoded(secret))) && !JSON.stringify(probe.event).includes(secret)
  );
  if (found === undefined) return [];
  return [fault("leak", "It shows a secret of its environment in its output", "print nothing of the environment")];
}

function encoded(secret: string): string {
  return Buffer.from(secret).toString("base64").slice(0, -4);
}

/** A mark that only a shell that ran a piece of the event could have left. */
function executes({ probed: { changed = [] }, probe }: Judged): Violation[] {
  if (!changed.includes("canary")) return [];
  const gate = isGate(eventName(probe)) ? " before anybody has allowed it" : "";
  return [
    fault(
      "executes",
      `It runs what the event holds${gate}: whoever writes a command or a file name decides what is run`,
      "never give a field to eval, sh -c or an unquoted expansion",
    ),
  ];
}
