import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import { type Example, readExamples } from "../check/examples/example.ts";
import { arrange } from "../check/examples/play.ts";
import { ProgressLine } from "../../cli/kit/each-of.ts";
import { numberFlag } from "../../cli/kit/flags.ts";
import { type Io, UsageError } from "../../cli/kit/io.ts";
import { sayRun } from "../../cli/kit/hook-ledger.ts";
import { type Item, WORDS } from "../../cli/kit/verdict.ts";
import type { Firing } from "../../cli/kit/extension.ts";
import { openText, several, table } from "../../cli/show/text.ts";
import type { AnyEvent } from "../../core/events.ts";
import { NOTHING } from "../../core/fold.ts";
import { isInside } from "../../files/confine.ts";
import { removeTree, writeFiles } from "../../files/tree.ts";
import { discover, type HookFile } from "../../hooks/discover.ts";
import { readHeader } from "../../hooks/file/hook-record.ts";
import { importsOf } from "../../hooks/file/imports.ts";
import { isNotebook, type ToolUse } from "../../hooks/hosts/channel.ts";
import { HOST_NAMES, isHost, unseenIn } from "../../hooks/hosts/index.ts";
import { nearest } from "../../input/nearest.ts";
import { LAB_HOSTS } from "./hosts.ts";
import { FAULTS, type LabRun } from "./lab-judge.ts";
import { type LabCase, type LabHook, type LabOptions, tryIn } from "./lab.ts";
import { sandboxWorks } from "../check/hook-lane.ts";
import { PACKAGE } from "../../runtime/own-copy.ts";
import { callAt, MARK, WATCHED } from "./script.ts";
import type { HostWish } from "./versions.ts";

interface Report {
  /** By host. */
  readonly tried: readonly (readonly LabRun[])[];
  readonly runs: readonly LabRun[];
  readonly hook: string;
  readonly event: string;
  readonly call: ToolUse | null;
  readonly expected: string;
  /** What no hook of a host sees, in sentences. */
  readonly unseen: readonly string[];
}

/** Fires hooks in real hosts, each an item with each host. */
export default async function testIn(firing: Firing): Promise<void> {
  const { subjects, flags, io, judge } = firing;
  const wishes = String(flags.in).split(",").map(readWish);
  const { cwd } = io;
  const files = subjects.flatMap(({ path, name }) =>
    filesAt(path).map((path) => ({ path, name: name ?? relative(cwd, path) }))
  );
  if (files.length === 0) throw new UsageError("There is no hook to test: name a hook file or a folder of hooks");
  judge.plan(...files.flatMap(({ name }) => wishes.map((wish) => itemName(name, wish))));
  const kept = typeof flags.keep === "string" ? resolve(io.cwd, flags.keep) : undefined;
  if (kept !== undefined) mkdirSync(kept, { recursive: true });
  const folder = realpathSync(kept ?? mkdtempSync(join(tmpdir(), "crochet-lab-")));
  const line = new ProgressLine(io);
  const options: LabOptions = {
    ...{ env: io.env, signal: io.signal, timeout: numberFlag(flags, "timeout", { least: 1 }) ?? 120 },
    ...{ install: flags.install === true },
    ...{ confined: await sandboxWorks(), say: (text) => line.show(text) },
  };
  try {
    for (const { path, name } of files) {
      const report = await reportOn(path, name, folder, wishes, firing, options);
      line.end();
      io.out(reportText(report));
      for (const [i, wish] of wishes.entries()) {
        judge.settle(itemOf(report, report.tried[i]!, wish));
      }
    }
  } finally {
    line.end();
    if (kept === undefined) removeTree(folder);
  }
  if (kept !== undefined) io.err(`crochet: the sessions of hosts are in ${kept}\n`);
}

export function readWish(typed: string): HostWish {
  const [, host = "", version] = /^([^@]*)(?:@(.+))?$/.exec(typed.trim()) ?? [];
  if (!isHost(host)) {
    const near = nearest(host, HOST_NAMES);
    throw new UsageError(`Cannot test in '${typed}' as that host is not known: did you mean '${near}'?`);
  }
  if (version?.includes("..")) {
    const ends = version.split("..").map((end) => `${host}@${end}`);
    throw new UsageError(`Cannot test in the range ${typed}: name versions, as in --in ${ends.join(",")}`);
  }
  if (!LAB_HOSTS[host]) throw new UsageError(`Cannot test in ${host} as it is on no registry: leave it out`);
  return { host, ...(version !== undefined && { version }) };
}

function filesAt(path: string): string[] {
  if (!existsSync(path)) throw new UsageError(`Cannot test '${path}' as there is no such file or folder`);
  if (!statSync(path).isDirectory()) return [path];
  const { files, problems } = discover(path);
  if (problems.length > 0) throw new UsageError(problems.map(({ message }) => message).join("\n"));
  return files.map(({ at }) => at);
}

async function reportOn(
  path: string,
  name: string,
  folder: string,
  wishes: readonly HostWish[],
  { flags, io, isSet: isSetOf, read, fire, install }: Firing,
  options: LabOptions,
): Promise<Report> {
  const { cwd } = io;
  // Hosts read a character such as @ in a path in ways of their own: that is not what is tested.
  const room = mkdtempSync(join(folder, `${basename(path).replaceAll(/[^\w.-]/g, "-")}-`));
  const project = join(room, "project");
  const file = read(path);
  const { event } = file;
  const isSet = isSetOf(file);
  const hooks = makeProject(project, file, cwd);
  const example = isSet
    ? undefined
    : (await readExamples(file)).find(({ expect: { action }, after }) =>
      after.length === 0 && !["continue", "any", "fail"].includes(action)
    );
  const chosen = isSet || example !== undefined;
  let call: ToolUse | undefined;
  const fireAt = async (usual: { [field: string]: unknown }) => {
    let files: LabCase["files"] = [];
    const one = await fire(file, {
      cwd: project,
      usual,
      prepare: (stdin) => {
        const made = callAt(event, stdin, chosen, "claude");
        if (made && event !== "post-tool-use-failure") files = namedFiles(made, project);
        writeFiles(project, files);
        call ??= made;
      },
    });
    for (const [path] of files) rmSync(join(project, path), { force: true });
    return { ...one, files };
  };
  const first = await fireAt(example ? arrangeExample(example, project) : {});
  const all = [first];
  // Of what a person chose, another tool takes a path.
  const tools = example || (isSet && call?.input.file_path === undefined) ? [] : WATCHED;
  for (const tool of event === "pre-tool-use" ? tools : []) {
    const isAbout = first.record.misses?.({ ...first.fired, tool_name: tool } as unknown as AnyEvent) === undefined;
    if (tool === call?.tool || !isAbout || (isSet && tool === "Bash")) continue;
    const other = await fireAt({ tool_name: tool });
    if (other.stdin.tool_name === tool) all.push(other);
  }
  if (!chosen && all.some(({ stdin }) => stdin.tool_name === "Edit")) {
    const tool_input = { file_path: join(project, "notes.ipynb"), cell_id: CELL.id, new_string: "changed" };
    all.push(await fireAt({ tool_name: "Edit", tool_input }));
  }
  // A command has no such field: the hook's other tools are meant.
  if (isSet && call?.tool === "Bash" && all.length > 1) all.shift();
  const cases = all.map(({ record, folded: said, ...one }): LabCase => ({
    ...one,
    // Hosts take no answer of a hook that only looks.
    folded: record.mode === "gate" ? said : NOTHING,
    said: said.runs[0] ? sayRun(said.runs[0]) : "–",
  }));
  const form = typeof flags.as === "string" ? ["--as", flags.as] : [];
  const hook: LabHook = {
    ...{ event, project, room, cases, chosen, isMod: flags.as === "mod" },
    packages: join(cwd, "node_modules"),
    install: async (host, into, home) => {
      const quiet: Io = { ...io, out: () => {}, cwd: into, env: { ...io.env, HOME: home, CROCHET_HOME: undefined } };
      await install([join(into, hooks), "--for", host, ...form], quiet);
    },
  };
  const tried: LabRun[][] = [];
  for (const wish of wishes) tried.push(await tryIn(wish, hook, options));
  call = event === "pre-tool-use" ? callAt(event, all[0]!.stdin, chosen, "claude") : call;
  const shown = call ? JSON.parse(JSON.stringify(call).replaceAll(`${project}/`, "")) as ToolUse : null;
  const unseen = event === "pre-tool-use" ? wishes.flatMap(({ host }) => unseenIn(host)) : [];
  return { hook: name, event, call: shown, expected: cases[0]!.said, unseen, tried, runs: tried.flat() };
}

const MARKS = { ok: "", cannot: "– the host cannot" } as const;

/** The matrix as a person reads it, and what it comes to. */
function reportText({ hook, call, unseen, runs }: Report): string {
  const [unit, ways] = call ? ["channel", ["channel"]] : ["host", []];
  const head = ["host", "version", ...ways, "fired", "hook said", "effect", "the model read", ""];
  const rows = runs.map(
    ({ host, version, channel = "–", tool = channel, fired, said: word, effect, read, state, expected }) => {
      const mark = FAULTS.includes(state)
        ? `✗ expected: ${openText(expected)}`
        : state in MARKS
        ? MARKS[state as "ok"]
        : "? not measured";
      return [
        host,
        version,
        ...(call ? [tool === channel ? channel : `${channel} (${tool})`] : []),
        String(fired ?? "–"),
        word,
        effect,
        openText(read),
        mark,
      ];
    },
  );
  const subject = call ? openText(String(call.input.command ?? call.input.file_path ?? call.tool)) : "";
  const good = runs.filter(({ state }) => state === "ok").length;
  const able = runs.filter(({ state }) => state !== "cannot");
  const does = able.length === 1 ? "does" : "do";
  const lines = [
    `${hook}${subject && `        ${subject}`}`,
    table(head, rows).trimEnd(),
    ...runs.flatMap(({ state, why }) => why === undefined ? [] : [`${FAULTS.includes(state) ? "✗" : "–"} ${why}`]),
    ...runs.flatMap(({ host, version, left }) => left.length > 0 ? [`${host} ${version} left ${left.join(", ")}`] : []),
    ...unseen,
    `${good} of ${several(able.length, unit)} ${does} what the hook says; network: ${runs[0]!.network}`,
    "",
  ];
  return lines.map((line) => `${line}\n`).join("");
}

function itemName(hook: string, { host, version }: HostWish): string {
  return `${hook} in ${host}${version === undefined ? "" : `@${version}`}`;
}

/** What one host says of a hook. */
function itemOf(report: Report, runs: readonly LabRun[], wish: HostWish): Item {
  const { tried: _, ...about } = report;
  // A hook that no host can carry out was not tested.
  const isShown = report.runs.some(({ state }) => state === "ok" || FAULTS.includes(state));
  const wordOf = ({ state }: LabRun): Item["word"] => {
    if (FAULTS.includes(state)) return "broken";
    if (state === "other version") return "cannot run";
    return state === "ok" || state === "cannot" && isShown ? "held" : "not measured";
  };
  const words = runs.map(wordOf);
  const word = WORDS.find((one) => words.includes(one)) ?? "not measured";
  const whys = runs.flatMap(({ why }) => why ?? []);
  return {
    ...{ name: itemName(report.hook, wish), of: report.hook, word, data: { ...about, runs } },
    seconds: runs.reduce((sum, { ms }) => sum + ms, 0) / 1000,
    ...(word === "held" ? { notes: whys } : { why: whys.join("\n") }),
  };
}

/** Makes the project in which a hook is tried, with what it imports and the packages. Gives the folder of the hook in it. */
function makeProject(project: string, { at, event, tools, name, text, kind }: HookFile, cwd: string): string {
  const from = isInside(at, cwd) ? cwd : dirname(dirname(at));
  // A folder of hooks holds nothing else, which a project does.
  const below = (path: string) => join(dirname(at) === from ? "hooks" : "", relative(from, path));
  const isNamed = name.startsWith(event) || /^\d+-/.test(name);
  const named = isNamed ? name : `${event}${tools.length > 0 ? `@${tools.join("+")}` : ""}.${name}`;
  cpSync(at, join(project, below(dirname(at)), named), { dereference: true });
  for (const path of importsOf(from, [at], (path) => readFileSync(path)).inside.map((file) => join(from, file))) {
    cpSync(path, join(project, below(path)), { dereference: true });
  }
  const { state = [] } = kind === "module" ? {} : readHeader(text);
  for (const path of [state].flat().filter((path) => existsSync(join(cwd, path)))) {
    cpSync(join(cwd, path), join(project, path), { recursive: true, dereference: true });
  }
  // What a call of 'npm test' needs, which is the usual one.
  writeFileSync(join(project, "package.json"), `${JSON.stringify({ scripts: { test: "echo 12 passing" } })}\n`);
  linkPackages(project, cwd);
  return below(dirname(at));
}

/** Gives a new project the packages of another, and ours. */
export function linkPackages(project: string, cwd: string): void {
  const packages = join(cwd, "node_modules");
  mkdirSync(join(project, "node_modules/.bin"), { recursive: true });
  for (const one of existsSync(packages) ? readdirSync(packages) : []) {
    if (!one.startsWith(".") && one !== "crochet") symlinkSync(join(packages, one), join(project, "node_modules", one));
  }
  symlinkSync(PACKAGE, join(project, "node_modules/crochet"));
}

/** The fields of an example's event, by the names on the wire; its files are put into the project. */
function arrangeExample({ event, given }: Example, project: string): Record<string, unknown> {
  if (given !== undefined) arrange(given, { project, home: dirname(project), tmp: dirname(project) });
  const { input, args, tool, tool_input = input ?? args, tool_name = tool, event: _, ...rest } = event;
  return { ...rest, ...(tool_input !== undefined && { tool_input }), ...(tool_name !== undefined && { tool_name }) };
}

/** What notebooks hold that a call names. */
const CELL = { cell_type: "code", id: "cell-0", metadata: {}, outputs: [], execution_count: null };

/** What a call names and the project lacks: the file it reads or edits, and the paths of a command. */
function namedFiles({ tool, input: { command, file_path, old_string } }: ToolUse, project: string): LabCase["files"] {
  const files: [path: string, text: string][] = [];
  const put = (path: string, text: string) => {
    if (!existsSync(path) && isInside(path, project)) files.push([relative(project, path), text]);
  };
  const text = `${old_string ?? MARK}\n`;
  const notebook = { cells: [{ ...CELL, source: [text] }], metadata: {}, nbformat: 4, nbformat_minor: 5 };
  if (isNotebook(file_path)) put(String(file_path), JSON.stringify(notebook));
  else if (tool === "Edit" || tool === "Read") put(String(file_path), text);
  const words = typeof command === "string" ? command.split(/\s+/).slice(1) : [];
  for (const word of words.filter((word) => /^[\w][\w./-]*$/.test(word))) {
    const isFile = /\.\w+$/.test(basename(word)) || existsSync(join(project, word));
    put(join(project, word, isFile ? "" : "kept.txt"), `${MARK}\n`);
  }
  return files;
}
