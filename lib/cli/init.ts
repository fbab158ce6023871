import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ownArgv } from "../hooks/installing/own-command.ts";
import { shellWord } from "../core/shown.ts";
import { trust } from "../hooks/trust.ts";
import { crochetVersion } from "../version.ts";
import { command, type Usage } from "./_flags.ts";
import { isFound, linkPackages } from "./init/_link.ts";
import {
  commands,
  denoJson,
  FIXTURE,
  type Origin,
  packageJson,
  PROMPT,
  REPLIES,
  templates,
} from "./init/_templates.ts";
import { EXIT, type Io, UsageError } from "./_io.ts";

const USAGE: Usage = {
  name: "init",
  words: "[dir]",
  about: "Scaffolds an agent, a hook with its examples and a test with a recorded run; files that are there stay.",
  flags: [["--json", "print data"]],
  example: "crochet init my-agent",
};

export default command(USAGE, async ({ words, flags }, io) => {
  if (words.length > 1) throw new UsageError("Cannot scaffold in several directories at once: name one");
  const dir = resolve(io.cwd, words[0] ?? ".");
  if (existsSync(dir) && !statSync(dir).isDirectory()) {
    throw new UsageError(`Cannot scaffold in '${words[0]}' as it is a file: name a directory`);
  }
  const origin = ownOrigin(dir);
  const made = await scaffold(dir, origin, io);
  if (flags.json) io.out(`${JSON.stringify({ dir, ...made })}\n`);
  else io.out(told(relative(io.cwd, dir), made, origin));
  return EXIT.ok;
});

interface Scaffold {
  readonly written: readonly string[];
  /** Files that were there before, and are as they were. */
  readonly kept: readonly string[];
  readonly notes: readonly string[];
}

async function scaffold(dir: string, origin: Origin, io: Io): Promise<Scaffold> {
  const name = basename(dir);
  const own = existsSync(join(dir, "agent.ts"));
  const files = Object.entries({
    ...templates(name),
    "package.json": packageJson(name, origin),
    "deno.json": denoJson(origin),
  }).filter(([path]) => !own || (path !== "agent.test.ts" && !path.startsWith(`fixtures/${FIXTURE}/`)));
  const freshHooks = !existsSync(join(dir, "hooks"));
  const written: string[] = [];
  const kept: string[] = own ? ["agent.ts"] : [];
  for (const [path, text] of files) {
    if (path === "agent.ts" && own) continue;
    (writeNew(join(dir, path), text) ? written : kept).push(path);
  }
  // The bytes are ours, and a person asked for them.
  if (freshHooks) trust(dir, io.env, "hooks");
  const tape = `fixtures/${FIXTURE}/tape.jsonl`;
  const record = !own && !existsSync(join(dir, tape));
  if (!own) (record ? written : kept).push(tape);
  const unlink = linkPackages(dir, origin);
  try {
    if (record) await recordRun(dir, io);
  } finally {
    // A package may lie in a cache that is emptied, and npm takes a link for an install.
    if (!origin.clone) unlink();
  }
  const notes = own ? ['agent.ts was there, so no run was recorded: crochet record agent.ts "<prompt>"'] : [];
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

function ownOrigin(dir: string): Origin {
  const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
  return {
    root,
    version: crochetVersion(),
    // What is packed has no settings for Deno; where a package lies does not tell, as every cache has a place of its own.
    clone: existsSync(join(root, "deno.json")),
    runtime: "Deno" in globalThis ? "deno" : "Bun" in globalThis ? "bun" : "node",
    found: isFound(dir, "crochet"),
    nodeTypes: isFound(dir, "@types/node"),
  };
}

/** Records the run of the test with the scaffolded agent, hook and tools, against a scripted model on 127.0.0.1. */
async function recordRun(dir: string, io: Io): Promise<void> {
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

function told(dir: string, { written, kept, notes }: Scaffold, origin: Origin): string {
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
