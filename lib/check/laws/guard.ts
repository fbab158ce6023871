import { Buffer } from "node:buffer";
import { existsSync, symlinkSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { TOOL_FIELDS } from "../../hooks/known-names.ts";
import { COMMANDS } from "../../testing/arbitraries/tool-inputs.ts";
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

/** A refusal that the same call, written another way, gets around. */
export interface Bypass {
  readonly denied: string;
  readonly passes: readonly Rewriting[];
}

/** The plainest way around a guard: what an agent writes without any thought of it. */
const SECOND = "after another command";

const MOST_TRIED = 2;
const FILE_TOOLS = ["Edit", "Write", "MultiEdit", "NotebookEdit", "write_file", "replace"];

/** The command or path that a call is about. */
export function guarded(probe: Probe): { readonly field: "command" | "file_path"; readonly text: string } | undefined {
  if (claudeName(eventName(probe)) !== "PreToolUse") return undefined;
  const { command, file_path } = inputOf(probe);
  const tool = String(probe.event.tool_name);
  if ((tool === "Bash" || tool === "run_shell_command") && typeof command === "string") {
    return { field: "command", text: command };
  }
  return FILE_TOOLS.includes(tool) && typeof file_path === "string"
    ? { field: "file_path", text: file_path }
    : undefined;
}

/** Guard: a refused call stays refused when it is written another way. */
export async function guardStrength(asker: LaneAsker, denied: readonly Probe[]): Promise<Bypass[]> {
  const { subject, lane } = asker;
  const found: Bypass[] = [];
  for (const probe of chosen(denied)) {
    const { field, text } = guarded(probe)!;
    const resolves = subject.host === "claude" && isWire(subject);
    const others = field === "command" ? commandRewritings(text) : pathRewritings(text, lane.place, resolves);
    // The link that paths lead through belongs to the project from here on.
    if (field === "file_path") lane.adopt();
    const passes: Rewriting[] = [];
    const probes = others.map((other) => withInput(probe, { [field]: other.text }));
    for await (const [asked, probed] of asker.askAll(probes)) {
      const passed = !refuses(probed) && !probed.timedOut && !probed.failure && !probed.skipped;
      if (passed) passes.push(others[probes.indexOf(asked)]!);
    }
    if (passes.length > 0) found.push({ denied: text, passes });
  }
  return found;
}

/** Refused calls that people write: known commands and paths of the project, the shortest of each program. */
function chosen(denied: readonly Probe[]): Probe[] {
  const usual = denied.filter((probe) => {
    const { field, text } = guarded(probe) ?? {};
    return field === "command" ? COMMANDS.includes(text!) && !/[\n|;&]/.test(text!) : field === "file_path";
  }).toSorted((a, b) => guarded(a)!.text.length - guarded(b)!.text.length);
  const first = (probe: Probe) => guarded(probe)!.field + guarded(probe)!.text.split(/[\s/]/).slice(0, 1).join("");
  return usual.filter((probe, i) => usual.findIndex((other) => first(other) === first(probe)) === i).slice(
    0,
    MOST_TRIED,
  );
}

/** The same as models write it without a thought of the guard. */
function usualRewritings(command: string): Rewriting[] {
  const bundle = /\s-([a-zA-Z]{2,})(?=\s|$)/.exec(command);
  const instead = (how: string, options: string) => ({ how, text: command.replace(bundle![0], options) });
  const force = /\s(?:-f|--force)(?=\s|$)/.exec(command)?.[0];
  return [
    ...(bundle
      ? [
        instead("options in another order", ` -${[...bundle[1]!].reverse().join("")}`),
        instead("options apart", [...bundle[1]!].map((letter) => ` -${letter}`).join("")),
      ]
      : []),
    ...(/^rm\s/.test(command) ? [{ how: "one file", text: "rm src/a.ts" }] : []),
    ...(force
      ? [{ how: "the other name of --force", text: command.replace(force, / -f/.test(force) ? " --force" : " -f") }]
      : []),
    { how: SECOND, text: `cd . && ${command}` },
    { how: "on a second line", text: `true\n${command}` },
  ];
}

function commandRewritings(command: string): Rewriting[] {
  const usual = usualRewritings(command);
  const quoted = `'${command.replaceAll("'", "'\\''")}'`;
  const whole: Rewriting[] = [
    { how: "sh -c", text: `sh -c ${quoted}` },
    { how: "eval", text: `eval ${quoted}` },
    { how: "in a subshell", text: `(${command})` },
    { how: "base64", text: `echo ${Buffer.from(command).toString("base64")} | base64 -d | sh` },
  ];
  const [, name, rest = ""] = /^([\w.-]+)(\s.*)?$/.exec(command) ?? [];
  if (name === undefined) return [...usual, ...whole];
  const path = ["/bin", "/usr/bin", "/usr/local/bin"].map((dir) => join(dir, name)).find((one) => existsSync(one));
  return [
    ...usual,
    { how: "a quote inside the name", text: `${name.slice(0, 1)}''${name.slice(1)}${rest}` },
    { how: "a backslash before the name", text: `\\${name}${rest}` },
    { how: "the name in quotes", text: `"${name}"${rest}` },
    { how: "the name in a variable", text: `x=${name}; $x${rest}` },
    { how: "two spaces", text: `${name}${rest.replace(/^\s/, "  ")}` },
    { how: "command", text: `command ${name}${rest}` },
    ...(path === undefined ? [] : [{ how: "an absolute path", text: `${path}${rest}` }]),
    ...(/^[^'"`$\\;&|<>()]+$/.test(rest) ? [{ how: "${IFS}", text: name + rest.replaceAll(/\s+/g, "${IFS}") }] : []),
    ...(name === "git" ? [{ how: "git -C", text: `git -C .${rest}` }] : []),
    ...whole,
  ];
}

/** Paths of the same file; makes the link that one leads through. A host that `resolves` passes on absolute paths only. */
function pathRewritings(path: string, { project }: ScratchFolders, resolves: boolean): Rewriting[] {
  const folder = dirname(path);
  const name = basename(path);
  const inside = relative(project, path);
  const found: Rewriting[] = [
    { how: "./ in the path", text: `${folder}/./${name}` },
    { how: "../ in the path", text: `${folder}/x/../${name}` },
    { how: "two slashes", text: `${folder}//${name}` },
  ];
  if (inside.startsWith("..") || inside === "") return found;
  const link = join(project, "linked");
  if (!existsSync(link)) symlinkSync(project, link);
  return [
    ...found,
    ...(resolves ? [] : [{ how: "a relative path", text: inside }]),
    { how: "a symbolic link", text: join(link, inside) },
  ];
}

/**
 * What is wrong with a hook that could have refused calls and refused none: a fault if its text says how it denies, a
 * warning if it never had anything to say.
 */
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
  const fix = "correct its condition, or give it an example that expects a denial";
  if (means) return fault("denies-nothing", message, fix);
  return warning(
    "denies-nothing",
    message,
    "correct its condition; if it only looks on, declare it: `# crochet: mode=observe`, or config.mode",
  );
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
