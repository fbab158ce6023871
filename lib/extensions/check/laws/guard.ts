import { Buffer } from "node:buffer";
import { existsSync, symlinkSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { channelOf } from "../../../hooks/hosts/channel.ts";
import { gemini } from "../../../hooks/hosts/gemini.ts";
import { HOSTS } from "../../../hooks/hosts/index.ts";
import { TOOL_FIELDS } from "../../../hooks/known-names.ts";
import { isEdit } from "../../../input/tool-table.ts";
import { COMMANDS } from "../arbitraries/tool-inputs.ts";
import { inputOf, isWire, type Probe, withInput } from "../sample-events.ts";
import { saysDenial } from "../constants.ts";
import { examplesOf, played } from "../examples/of-hook.ts";
import { type LaneAsker, type Lanes, refuses } from "../hook-lane.ts";
import type { ScratchFolders } from "../scratch-project.ts";
import type { Violation } from "../check-report.ts";
import type { Probed } from "../subject.ts";
import { claudeName, eventName, violationsOf } from "./judged.ts";

const { fault, warning } = violationsOf("guard", "guard");

interface Rewriting {
  readonly how: string;
  readonly text: string;
}

/** A call in other words, by what was done to it; undefined if that cannot be done. */
type Ways = { readonly [how: string]: string | undefined };

function rewritings(ways: Ways): Rewriting[] {
  return Object.entries(ways).flatMap(([how, text]) => text === undefined ? [] : [{ how, text }]);
}

/** A refusal that the same call, written another way, gets around. */
export interface Bypass {
  readonly denied: string;
  readonly passes: readonly Rewriting[];
}

/** The plainest way around a guard: what an agent writes without any thought of it. */
const SECOND = "after another command";

const MOST_TRIED = 2;

export function guarded(probe: Probe): { readonly field: "command" | "file_path"; readonly text: string } | undefined {
  if (claudeName(eventName(probe)) !== "PreToolUse") return undefined;
  const { command, file_path } = inputOf(probe);
  const name = String(probe.event.tool_name);
  const tool = channelOf(gemini.channels, name)?.ours[0] ?? name;
  if (tool === "Bash" && typeof command === "string") return { field: "command", text: command };
  return isEdit(tool) && typeof file_path === "string" ? { field: "file_path", text: file_path } : undefined;
}

/** Guard: a refused call stays refused when it is written another way. */
export async function guardStrength(asker: LaneAsker, denied: readonly Probe[]): Promise<Bypass[]> {
  const { subject, lane } = asker;
  const found: Bypass[] = [];
  for (const { probe, field, text } of chosen(denied)) {
    const resolves = isWire(subject) && HOSTS[subject.host].commands?.resolvesPaths === true;
    const others = field === "command" ? commandRewritings(text) : pathRewritings(text, lane.place, resolves);
    // The link that paths lead through belongs to the project from here on.
    if (field === "file_path") lane.adopt();
    const passes: Rewriting[] = [];
    const probes = others.map((other) => withInput(probe, { [field]: other.text }));
    for await (const [asked, probed] of asker.askAll(probes)) {
      const passed = !refuses(probed) && !probed.timedOut && !probed.failure && !probed.skipped;
      if (passed) passes.push(others[probes.indexOf(asked)]!);
    }
    passes.sort((a, b) => others.indexOf(a) - others.indexOf(b));
    if (passes.length > 0) found.push({ denied: text, passes });
  }
  return found;
}

/** Refused calls that people write: known commands and paths of the project, the shortest of each program. */
function chosen(denied: readonly Probe[]) {
  const usual = denied.flatMap((probe) => {
    const { field, text = "" } = guarded(probe) ?? {};
    const isUsual = field === "file_path" || (COMMANDS.includes(text) && !/[\n|;&]/.test(text));
    return field !== undefined && isUsual ? [{ probe, field, text }] : [];
  }).sort((a, b) => a.text.length - b.text.length);
  const programs = Map.groupBy(usual, ({ field, text }) => field + text.split(/[\s/]/, 1)[0]);
  return [...programs.values()].map(([first]) => first!).slice(0, MOST_TRIED);
}

/** The same command in other words: first as models write it without a thought of the guard. */
function commandRewritings(command: string): Rewriting[] {
  const [bundle, letters = ""] = /\s-([a-zA-Z]{2,})(?=\s|$)/.exec(command) ?? [];
  const force = /\s(?:-f|--force)(?=\s|$)/.exec(command)?.[0];
  const quoted = `'${command.replaceAll("'", "'\\''")}'`;
  const [, name, rest = ""] = /^([\w.-]+)(\s.*)?$/.exec(command) ?? [];
  const path = ["/bin", "/usr/bin", "/usr/local/bin"].map((dir) => join(dir, name ?? "")).find((one) =>
    existsSync(one)
  );
  const unquoted: Ways = name === undefined ? {} : {
    "two spaces": `${name}${rest.replace(/^\s/, "  ")}`,
    command: `command ${name}${rest}`,
    "an absolute path": path && `${path}${rest}`,
  };
  const quotedName: Ways = name === undefined ? {} : {
    "a quote inside the name": `${name.slice(0, 1)}''${name.slice(1)}${rest}`,
    "a backslash before the name": `\\${name}${rest}`,
    "the name in quotes": `"${name}"${rest}`,
    "the name in a variable": `x=${name}; $x${rest}`,
    "${IFS}": /^[^'"`$\\;&|<>()]+$/.test(rest) ? name + rest.replaceAll(/\s+/g, "${IFS}") : undefined,
  };
  return rewritings({
    [SECOND]: `cd . && ${command}`,
    "options in another order": bundle && command.replace(bundle, ` -${[...letters].reverse().join("")}`),
    "options apart": bundle && command.replace(bundle, [...letters].map((letter) => ` -${letter}`).join("")),
    "the other name of --force": force && command.replace(force, / -f/.test(force) ? " --force" : " -f"),
    "on a second line": `true\n${command}`,
    ...unquoted,
    "git -C": name === "git" ? `git -C .${rest}` : undefined,
    "sh -c": `sh -c ${quoted}`,
    "in a subshell": `(${command})`,
    eval: `eval ${quoted}`,
    ...quotedName,
    base64: `echo ${Buffer.from(command).toString("base64")} | base64 -d | sh`,
  });
}

/** Paths of the same file; makes the link that one leads through. A host that `resolves` passes on absolute paths only. */
function pathRewritings(path: string, { project }: ScratchFolders, resolves: boolean): Rewriting[] {
  const folder = dirname(path);
  const name = basename(path);
  const inside = relative(project, path);
  const isInside = !inside.startsWith("..") && inside !== "";
  const link = join(project, "linked");
  if (isInside && !existsSync(link)) symlinkSync(project, link);
  return rewritings({
    "./ in the path": `${folder}/./${name}`,
    "../ in the path": `${folder}/x/../${name}`,
    "two slashes": `${folder}//${name}`,
    "a relative path": isInside && !resolves ? inside : undefined,
    "a symbolic link": isInside ? join(link, inside) : undefined,
  });
}

/** A hook that refused no call: a fault if its text says how it denies, a warning if it never had anything to say. */
export async function neverDenies(
  asker: LaneAsker,
  lanes: Lanes,
  answers: ReadonlyMap<Probe, Probed>,
  events: number,
): Promise<Violation | undefined> {
  const asked = [...answers].filter(([probe]) => claudeName(eventName(probe)) === "PreToolUse");
  const isSilent = ({ opinion = {}, inputs = [], failure, changed = [] }: Probed) =>
    Object.keys(opinion).length + inputs.length + changed.length === 0 && !failure;
  // How other tools are called is not known.
  const means = saysDenial(asker.subject) &&
    asked.some(([{ event }]) => Object.hasOwn(TOOL_FIELDS, `${event.tool_name}`));
  const hasNone = means
    ? asked.every(([, probed]) => !refuses(probed) && !probed.failure)
    : asked.every(([, probed]) => isSilent(probed));
  if (asked.length === 0 || !hasNone) return undefined;
  // An example shows that it refuses in a state of the project that only its author knows.
  const examples = await examplesOf(asker);
  for (const example of examples instanceof Error ? [] : examples) {
    if (example.expect.action === "deny" && (await played(example, asker, lanes)).ok) return undefined;
  }
  const message = `It denied 0 of ${events} events, dangerous calls and what its own constants name among them`;
  const fix = means
    ? "correct its condition, or give it an example that expects a denial"
    : "correct its condition; if it only looks on, declare it: `# crochet: mode=observe`, or config.mode";
  return (means ? fault : warning)("denies-nothing", message, fix);
}

export function bypassViolation({ denied, passes }: Bypass): Violation {
  const second = passes.find(({ how }) => how === SECOND);
  const { text, how } = second ?? passes[0]!;
  const more = passes.length > 1 ? `, and ${passes.length - 1} more` : "";
  const message = `it denies \`${denied}\` and lets \`${text.replaceAll("\n", "⏎")}\` pass (${how}${more})`;
  if (second) {
    const split = "split the line at &&, ||, ;, | and line breaks, and look at each command of it";
    return warning("first-command", `It looks at the first command of a line only: ${message}`, split);
  }
  const fix = "resolve paths, split command lines, deny what it cannot read, or use a sandbox";
  return warning("bypass", message.replace("it", "It"), fix);
}
