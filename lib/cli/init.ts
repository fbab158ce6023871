import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ownArgv } from "../hooks/installing/own-command.ts";
import { trust } from "../hooks/trust.ts";
import { versionOf } from "../tape/_about.ts";
import { helpText, readFlags, type Usage } from "./_flags.ts";
import { denoJson, FIXTURE, type Origin, packageJson, PROMPT, REPLIES, templates } from "./init/_templates.ts";
import { type Command, EXIT, type Io, UsageError } from "./_io.ts";

const USAGE: Usage = {
  name: "init",
  words: "[dir]",
  about: "Scaffolds an agent, a hook with its examples and a test with a recorded run; files that are there stay.",
  flags: [["--json", "print data"], ["--help", "this text"]],
  example: "crochet init my-agent",
};

const init: Command = async (args, io) => {
  const { words, flags } = await readFlags(USAGE, args);
  if (flags.help) {
    io.out(helpText(USAGE));
    return EXIT.ok;
  }
  if (words.length > 1) throw new UsageError("Cannot scaffold in several directories at once: name one");
  const dir = resolve(io.cwd, words[0] ?? ".");
  if (existsSync(dir) && !statSync(dir).isDirectory()) {
    throw new UsageError(`Cannot scaffold in '${words[0]}' as it is a file: name a directory`);
  }
  const made = await scaffold(dir, io);
  if (flags.json) io.out(`${JSON.stringify({ dir, ...made })}\n`);
  else io.out(told(relative(io.cwd, dir), made));
  return EXIT.ok;
};
export default init;

interface Scaffold {
  readonly written: readonly string[];
  /** Files that were there before, and are as they were. */
  readonly kept: readonly string[];
  readonly notes: readonly string[];
}

async function scaffold(dir: string, io: Io): Promise<Scaffold> {
  const origin = ownOrigin();
  const name = basename(dir);
  const own = existsSync(join(dir, "agent.ts"));
  const files = Object.entries({
    ...templates(name),
    "package.json": packageJson(name, origin),
    "deno.json": denoJson(origin),
  }).filter(([path]) => !own || !/^(agent\.test\.ts$|fixtures\/)/.test(path));
  const freshHooks = !existsSync(join(dir, "hooks"));
  const written: string[] = [];
  const kept: string[] = own ? ["agent.ts"] : [];
  for (const [path, text] of files) {
    if (path === "agent.ts" && own) continue;
    (writeNew(join(dir, path), text) ? written : kept).push(path);
  }
  linkPackages(dir, origin);
  // The bytes are ours, and a person asked for them.
  if (freshHooks) trust(dir, io.env, "hooks");
  const notes: string[] = [];
  const tape = `fixtures/${FIXTURE}/tape.jsonl`;
  if (own) notes.push('agent.ts was there, so no run was recorded: crochet record agent.ts "<prompt>"');
  else if (existsSync(join(dir, tape))) kept.push(tape);
  else {
    await record(dir, io);
    written.push(tape);
  }
  if (kept.includes("package.json") && !readFileSync(join(dir, "package.json"), "utf8").includes('"crochet"')) {
    const { dependencies } = JSON.parse(packageJson(name, origin));
    notes.push(`package.json does not name crochet: add "crochet": "${dependencies.crochet}" to its dependencies`);
  }
  return { written, kept, notes };
}

/** Whether the file was written: what is there stays. */
function writeNew(path: string, text: string): boolean {
  mkdirSync(dirname(path), { recursive: true });
  try {
    writeFileSync(path, text, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === "EEXIST") return false;
    throw error;
  }
}

function ownOrigin(): Origin {
  const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
  return { root, version: versionOf(), clone: !root.includes("/node_modules/") };
}

/**
 * Makes `crochet` resolve at once, as an install would: by a link, unless it is found already. Deno looks in the
 * project for the types that the sources of a clone name, so these are linked too.
 */
function linkPackages(dir: string, { root, clone }: Origin): void {
  const modules = join(dir, "node_modules");
  const packages = { crochet: root, ...(clone && { "@types/node": join(root, "node_modules/@types/node") }) };
  for (const [name, from] of Object.entries(packages)) {
    if (!existsSync(from) || isFound(dir, name)) continue;
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(from, join(modules, name), "dir");
  }
}

function isFound(dir: string, name: string): boolean {
  if (existsSync(join(dir, "node_modules", name, "package.json"))) return true;
  return dir !== dirname(dir) && isFound(dirname(dir), name);
}

/** Records the run of the test with the scaffolded agent, hook and tools, against a scripted model on 127.0.0.1. */
async function record(dir: string, io: Io): Promise<void> {
  const { scriptedServer } = await import("../testing/server.ts");
  const server = await scriptedServer([...REPLIES]);
  try {
    const { CI: _, CROCHET_MODEL: __, CROCHET_TAPE: ___, CROCHET_TAPE_MODE: ____, ...rest } = io.env;
    const env = { ...rest, ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "not-a-key" };
    const [runtime, ...args] = ownArgv("cli/main", "record", "agent.ts", PROMPT, "--fixture", FIXTURE);
    const { code, words } = await ran(runtime, args, dir, env);
    if (code !== 0) throw new Error(`Cannot record the first run as the agent did not start: ${words}`);
    server.done();
  } finally {
    await server.close();
  }
}

function ran(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Io["env"],
): Promise<{ code: number; words: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { ...env }, stdio: ["ignore", "ignore", "pipe"] });
    let words = "";
    child.stderr.on("data", (data) => words += data);
    child.on("error", reject);
    child.on("close", (code) => resolve({ code: code ?? 1, words: words.trim().split("\n")[0] ?? "" }));
  });
}

function told(dir: string, { written, kept, notes }: Scaffold): string {
  const deno = "Deno" in globalThis;
  const next = [
    ...(dir === "" ? [] : [[`cd ${dir}`, ""]]),
    [deno ? "deno test -A" : "bun test", "the agent on its recorded run: no key, no network"],
    ["crochet hooks check", "tries the hook"],
    [`${deno ? "deno run -A" : "bun run"} agent.ts "what is here?"`, "needs ANTHROPIC_API_KEY"],
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
