import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { shellWord } from "../../core/shown.ts";
import { writeWhole } from "../../files/drafts.ts";
import { runProcess } from "../../process/process.ts";
import { inScratch } from "../../replay/fixture.ts";
import { onPath } from "../../process/programs.ts";
import { denoFlags, isFound, PACKAGE } from "../../runtime/own-copy.ts";
import { crochetVersion } from "../../runtime/version.ts";
import { ownArgv } from "../../hooks/own-command.ts";
import { trust } from "../../hooks/hook-trust.ts";
import { trustRecorded } from "../../cli/kit/known-fixtures.ts";
import { command, type Usage } from "../../cli/kit/flags.ts";
import { type Io, UsageError } from "../../cli/kit/io.ts";
import { commands, denoJson, FIXTURE, type Origin, packageJson, PROMPT, REPLIES, templates } from "./templates.ts";
import { FOLDER, type Supply, supply } from "./supply.ts";

const USAGE: Usage = {
  name: "init",
  words: "[dir]",
  about: "Scaffolds an agent, a hook with its examples and a test with a recorded run; existing files are kept.",
  flags: [
    ["--ci <host>", "write a CI workflow too, or without [dir] alone: github"],
    ["--json", "print JSON"],
  ],
  example: "crochet init my-agent --ci github",
};

export default command(USAGE, async ({ words, flags }, io) => {
  const dir = resolve(io.cwd, words[0] ?? ".");
  if (existsSync(dir) && !statSync(dir).isDirectory()) {
    throw new UsageError(`Cannot scaffold in '${words[0]}' as it is a file: name a directory`);
  }
  const origin = ownOrigin(dir);
  const ci = flags.ci === undefined ? undefined : await import("./ci.ts");
  ci?.expectHost(flags.ci!);
  const workflow = () => ci?.writeWorkflow(dir, { env: io.env, ...origin }, (path, text) => writeNew(path, text, []));
  if (ci && words[0] === undefined) {
    const { written, notes } = workflow()!;
    const text = [...written.map((path) => `+ ${path}`), ...notes.map((note) => `! ${note}`), ""].join("\n");
    return { data: { dir, written, kept: [], notes }, text };
  }
  const { written, kept, notes } = await scaffold(dir, origin, io);
  const jobs = workflow();
  const made = { written: [...written, ...jobs?.written ?? []], kept, notes: [...notes, ...jobs?.notes ?? []] };
  return { data: { dir, ...made }, text: summary(relative(io.cwd, dir), made, origin) };
});

interface Scaffold {
  readonly written: readonly string[];
  /** Files that were there before, and are as they were. */
  readonly kept: readonly string[];
  readonly notes: readonly string[];
}

async function scaffold(dir: string, origin: Origin, io: Io): Promise<Scaffold> {
  const name = basename(dir);
  const given = await supply(origin.root, origin.runtime === "deno" && !origin.found ? "folder" : "tarball", io);
  const all: Record<string, string> = {
    ...templates(name),
    "package.json": packageJson(name, origin, given),
    "deno.json": denoJson(origin, given),
  };
  // The user's own agent; a scaffold that 'init' left unfinished is completed.
  const own = existsSync(join(dir, "agent.ts")) && readFileSync(join(dir, "agent.ts"), "utf8") !== all["agent.ts"];
  const ofOurAgent = (path: string) => /^agent\.(test\.)?ts$/.test(path) || path.startsWith(`fixtures/${FIXTURE}/`);
  const files = Object.entries(all).filter(([path]) => !own || !ofOurAgent(path));
  const hooks = join(dir, "hooks");
  const isOurs = (file: string) => readFileSync(join(hooks, file), "utf8") === all[`hooks/${file}`];
  const onlyOurHooks = !existsSync(hooks) || readdirSync(hooks).every(isOurs);
  const tape = `fixtures/${FIXTURE}/tape.jsonl`;
  const record = !own && !existsSync(join(dir, tape));
  const written: string[] = [];
  const kept: string[] = own ? ["agent.ts"] : [];
  const undo: (() => void)[] = [];
  try {
    if (given.vendored !== undefined && needs(dir, given)) {
      for (const { path, bytes, executable } of given.files) writeNew(join(dir, path), bytes, undo, executable);
      written.push(given.vendored);
    }
    for (const [path, text] of files) (writeNew(join(dir, path), text, undo) ? written : kept).push(path);
    if (!own) (record ? written : kept).push(tape);
    if (record) writeNew(join(dir, tape), await recordRun(all, tape, origin, io), undo);
    // A package may be in a cache that is emptied, and npm takes a link for an install; Deno installs by itself.
    // Where npm installs, a link that it did not make is in its way.
    const isLinked = origin.clone && origin.runtime !== "deno" && commands(origin).install === undefined;
    if (isLinked) undo.push(linkPackages(dir, origin, (name) => isFound(dir, name)));
  } catch (error) {
    for (const step of undo.reverse()) step();
    throw error;
  }
  // The bytes are ours, and a person asked for them.
  if (onlyOurHooks) trust(dir, io.env, "hooks");
  if (record) await trustRecorded(join(dir, dirname(tape)), io);
  const notes = own ? ['agent.ts was there, so no run was recorded: crochet record agent.ts "<prompt>"'] : [];
  if (kept.includes("package.json")) notes.push(...await addDependency(dir, given, io));
  if (
    given.vendored === FOLDER && kept.includes("deno.json") &&
    !readFileSync(join(dir, "deno.json"), "utf8").includes(FOLDER)
  ) {
    const { links, imports } = JSON.parse(all["deno.json"]!);
    notes.push(`deno.json does not name crochet: add ${JSON.stringify({ links, imports }).slice(1, -1)}`);
  }
  return { written, kept, notes };
}

/** Writes a file unless one is there; `undo` gets what removes it, and the folders made for it. */
function writeNew(path: string, text: string | Uint8Array, undo: (() => void)[], executable = false): boolean {
  const made = mkdirSync(dirname(path), { recursive: true });
  if (made !== undefined) undo.push(() => rmSync(made, { recursive: true, force: true }));
  try {
    writeWhole(path, text, { replace: false, mode: executable ? 0o777 : 0o666 });
    undo.push(() => rmSync(path, { force: true }));
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === "EEXIST") return false;
    throw error;
  }
}

/** Whether the project is to have the files: not if it names a crochet of another place. */
function needs(dir: string, { dependency }: Supply): boolean {
  const file = join(dir, "package.json");
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  return !text.includes('"crochet"') || text.includes(JSON.stringify(dependency));
}

/** Names crochet in the user's package.json, if they agree; what is left for them to do. */
async function addDependency(dir: string, { dependency: crochet }: Supply, io: Io): Promise<string[]> {
  const file = join(dir, "package.json");
  const text = readFileSync(file, "utf8");
  if (text.includes('"crochet"')) return [];
  const line = `"crochet": ${JSON.stringify(crochet)}`;
  if (!await agreed(`Add ${line} to the dependencies of package.json? [Y/n] `, io)) {
    return [`package.json does not name crochet: add ${line} to its dependencies`];
  }
  const { applyEdits, modify } = await import("jsonc-parser");
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
  const formattingOptions = { insertSpaces: !indent.startsWith("\t"), tabSize: indent.length };
  writeWhole(file, applyEdits(text, modify(text, ["dependencies", "crochet"], crochet, { formattingOptions })));
  return [`package.json: added ${line}`];
}

/** Whether the user says yes; false without a terminal. */
async function agreed(question: string, io: Io): Promise<boolean> {
  if (!io.tty || !process.stdin.isTTY) return false;
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^(y|yes)?$/i.test((await lines.question(question, { signal: io.signal })).trim());
  } finally {
    lines.close();
  }
}

function ownOrigin(dir: string): Origin {
  const node = onPath("node", process.env);
  return {
    root: PACKAGE,
    version: crochetVersion(),
    // A packed copy has no settings for Deno; its path does not show it, as every cache has a place of its own.
    clone: existsSync(join(PACKAGE, "deno.json")),
    runtime: "Deno" in globalThis ? "deno" : "Bun" in globalThis ? "bun" : "node",
    found: isFound(dir, "crochet"),
    nodeTypes: isFound(dir, "@types/node"),
    isBunOnPath: onPath("bun", process.env) !== undefined,
    // Bun puts a link to itself before the PATH under Node's name.
    isNodeOnPath: node !== undefined && !/\bbun(\.exe)?$/.test(realpathSync(node)),
  };
}

/**
 * Records the run of the test with the scaffolded agent, hook and tools, against a scripted model on 127.0.0.1. In a
 * folder of its own: of a directory that is scaffolded, whose packages and hooks may be a stranger's, nothing runs.
 */
async function recordRun(files: Record<string, string>, tape: string, origin: Origin, io: Io): Promise<string> {
  const { scriptedServer } = await import("../../testing/server.ts");
  await using server = await scriptedServer([...REPLIES]);
  return await inScratch(undefined, async (dir) => {
    const { CI: _, CROCHET_MODEL: __, ...rest } = io.env;
    const state = { CROCHET_HOME: join(dir, ".state") };
    const env = { ...rest, ...state, ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "not-a-key" };
    // A crochet in Deno's cache is found by its name, and its packages are there.
    const alone = denoFlags().length === 0 ? files : { ...files, "deno.json": '{ "nodeModulesDir": "manual" }' };
    for (const [path, text] of Object.entries(alone)) writeNew(join(dir, path), text, []);
    linkPackages(dir, origin);
    const [runtime, ...args] = ownArgv("cli/main", "record", "agent.ts", PROMPT, "--fixture", FIXTURE, "--once");
    const { code, stderr } = await runProcess({ command: runtime, args, cwd: dir, env, signal: io.signal });
    if (code !== 0) throw new Error(`Cannot record the first run: ${stderr.trim().split("\n")[0]}`);
    server.done();
    return readFileSync(join(dir, tape), "utf8");
  });
}

function summary(dir: string, { written, kept, notes }: Scaffold, origin: Origin): string {
  const { install, test, crochet, start } = commands(origin);
  const next = [
    ...(dir === "" ? [] : [[`cd ${shellWord(dir)}`, ""]]),
    ...(install === undefined ? [] : [[install, ""]]),
    [test, "the agent on its recorded run: no key, no network"],
    [`${crochet} hooks check hooks`, "tries the hook"],
    [`${start} "what is here?"`, "needs ANTHROPIC_API_KEY"],
  ];
  const width = Math.max(...next.map(([command]) => command!.length)) + 2;
  return [
    ...written.map((path) => `+ ${path}`),
    ...kept.map((path) => `= ${path} (was there, stays as it is)`),
    ...notes.map((note) => `! ${note}`),
    "",
    "Next",
    ...next.map(([command, about]) => `  ${command!.padEnd(width)}${about}`.trimEnd()),
    "",
  ].join("\n");
}

/** Links what an install would bring: crochet, and the types that Deno wants for a clone. Gives what removes the links. */
function linkPackages(dir: string, { root, clone }: Origin, isThere = (_: string) => false): () => void {
  const modules = join(dir, "node_modules");
  const had = existsSync(modules);
  const packages = { crochet: root, ...(clone && { "@types/node": join(root, "node_modules/@types/node") }) };
  const missing = Object.entries(packages).filter(([name, from]) => existsSync(from) && !isThere(name));
  for (const [name, from] of missing) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    const isDangling = !existsSync(join(modules, name)) && lstatSync(join(modules, name), { throwIfNoEntry: false });
    if (isDangling) rmSync(join(modules, name));
    symlinkSync(from, join(modules, name), "dir");
  }
  return () => {
    for (const [name] of missing) rmSync(join(modules, name), { force: true });
    if (!had) rmSync(modules, { recursive: true, force: true });
  };
}
