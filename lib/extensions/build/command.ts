import { existsSync, mkdirSync, mkdtempSync, realpathSync, renameSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Agent } from "../../agent/options.ts";
import type { HookRecord } from "../../core/hook.ts";
import { thrownWords } from "../../core/shown.ts";
import { discover, holdsHooks } from "../../hooks/discover.ts";
import { sharedFiles } from "../../hooks/folder.ts";
import { howEnded, runProcess } from "../../process/process.ts";
import { isExecutable } from "../../process/programs.ts";
import { ASKED, bundleProgram, type Embedded } from "./bundle.ts";
import type { KindsOfAgent } from "../../tools/agent.ts";
import { command, type Usage } from "../../cli/kit/flags.ts";
import { type Io, UsageError } from "../../cli/kit/io.ts";
import { loadAgent } from "../../cli/kit/script.ts";
import { removeTree } from "../../files/tree.ts";

const USAGE: Usage = {
  name: "build",
  words: "<agent.ts>",
  about:
    "Makes one file of an agent script, its packages and the folders of its hooks, or with --compile one binary, which " +
    "needs no runtime. The result is started once, and delivered only if it lists the same hooks as 'crochet hooks ls'.",
  flags: [
    ["--compile", "a binary, with Bun in it"],
    ["--out <file>", "where it goes; without it agent.js, or agent for a binary, in this directory"],
    [
      "--target <name>",
      "bun or node for a file, bun-linux-x64-baseline … for a binary: one that starts on this machine",
    ],
    ["--with-agents", "put the agents of agents/*.md beside the script into it, as if they were defined in code"],
    ["--json", "print JSON"],
  ],
  example: "crochet build agent.ts",
  more: () => Promise.resolve("  crochet build agent.ts --compile --out bin/agent\n"),
};

export default command(USAGE, async ({ words, flags }, io) => {
  const { Bun } = globalThis as { Bun?: unknown };
  if (!Bun) {
    throw new Error(
      "Cannot build here as Bun makes the bundle: npm install --global bun, then 'crochet build' finds it",
    );
  }
  const [typed] = words as [string];
  if (!existsSync(resolve(io.cwd, typed))) throw new UsageError(`Cannot build '${typed}' as there is no such script`);
  const script = realpathSync(resolve(io.cwd, typed));
  const compile = flags.compile === true;
  const name = basename(script).replace(/\.\w+$/, "");
  const out = resolve(io.cwd, typeof flags.out === "string" ? flags.out : compile ? name : `${name}.js`);
  const there = statSync(out, { throwIfNoEntry: false });
  if (there && (there.isDirectory() || realpathSync(out) === script)) {
    const what = there.isDirectory() ? "a folder" : "the script itself";
    throw new UsageError(`Cannot build into '${relative(io.cwd, out)}' as that is ${what}: name another with --out`);
  }
  const refuse = (why: string): never => {
    throw new Error(`Cannot build '${typed}' as ${why}`);
  };
  const agent = await loadAgent(script, io);
  const { folders, hooks } = await ownHooks(agent, script, refuse);
  const agents = flags.withAgents === true ? await ownAgents(agent, dirname(script), refuse) : undefined;
  mkdirSync(dirname(out), { recursive: true });
  const room = mkdtempSync(join(dirname(out), ".crochet-build-"));
  try {
    const made = join(room, basename(out));
    const target = typeof flags.target === "string" ? flags.target : undefined;
    await bundleProgram({ script, folders, agents, out: made, compile, target }).catch((e) => refuse(thrownWords(e)));
    const why = await unlike(made, compile, hooks, agents, io).catch(thrownWords);
    if (why !== undefined) refuse(`what was built is not delivered: ${why}`);
    renameSync(made, out);
  } finally {
    removeTree(room);
  }
  const bytes = statSync(out).size;
  const listed = hooks.map(({ name, kind }) => ({ name, kind }));
  const rows = listed.map(({ name, kind }) => `  ${name} (${kind})\n`);
  const kinds = Object.keys(agents?.inFiles ?? {});
  const started = agents ? `Its agents, of ${agents.folder}: ${kinds.join(", ")}\n` : "";
  const size = `${(bytes / 1e6).toFixed(1)} MB`;
  const text = `${relative(io.cwd, out)}: ${size}, started once: it has the hooks that 'crochet hooks ls' lists\n` +
    `${rows.join("") || "  none\n"}${started}${WORKSPACE}\n`;
  return { data: { out, bytes, hooks: listed, ...(agents && { agents: kinds }) }, text };
});

const WORKSPACE =
  "Not inside: hooks.yaml, .agent/hook.toml and .claude/settings.json belong to the workspace in which it runs";

type Refuse = (why: string) => never;

/** The hooks of an agent as they are now, and what of its folders has to be inside the program. */
async function ownHooks(agent: Agent, script: string, refuse: Refuse) {
  const root = dirname(script);
  const own = await agent.ownHooks().catch((error) => refuse(thrownWords(error)));
  const folders = own.folders.map((folder) => embedded(folder, root, refuse));
  const hooks = await own.load().catch((error) => refuse(unloadable(thrownWords(error))));
  const isolated = hooks.find(({ kind, dialect }) => kind === "module" && dialect !== "native");
  if (isolated) {
    refuse(`its hook '${isolated.name}' has 'isolate', for which crochet is started: take that out of its config`);
  }
  // That there is nothing beside the script is known now, and only now.
  if (!folders.some(({ path }) => path === "hooks") && !holdsHooks(join(root, "hooks"))) {
    folders.push({ path: "hooks", files: {}, modules: [] });
  }
  return { folders, hooks };
}

/** The agents that files beside the script define; it is refused where one would be missing in the program. */
async function ownAgents(agent: Agent, root: string, refuse: Refuse): Promise<KindsOfAgent> {
  const wrong: string[] = [];
  const own = await agent.ownAgents(root, (message) => wrong.push(message)) ??
    refuse("nothing in it starts agents: give it the tool Agent, or leave out --with-agents");
  if (wrong.length > 0) {
    refuse(wrong.map((one) => one.replace(/^Cannot use (.*?) as /, "'$1' cannot be used: ")).join("\n"));
  }
  if (Object.keys(own.inFiles).length > 0) return own;
  const named = join(root, own.folder, "<name>.md");
  return refuse(
    `no file '${named}' defines an agent that is not in code: begin one with '---', a line 'description: …' and '---', or leave out --with-agents`,
  );
}

/** Why a hook cannot be loaded, for a sentence that says what cannot be built. */
function unloadable(message: string): string {
  return message.replace(/^Cannot load hook ('[^']*') as /, "hook $1 cannot be loaded: ");
}

function embedded(folder: string, root: string, refuse: Refuse): Embedded {
  const path = relative(root, folder);
  const real = realpathSync(folder);
  if (!`${real}/`.startsWith(`${root}/`)) {
    refuse(`its folder of hooks '${folder}' lies outside of the script's: move it beside the script`);
  }
  const { files, problems } = discover(folder);
  if (problems.length > 0) refuse(problems.map(({ message }) => unloadable(message)).join("\n"));
  const names = [...files.map(({ name }) => name), ...sharedFiles(real).paths.map((one) => relative(real, one))];
  return {
    path,
    files: Object.fromEntries(names.map((name) => {
      const at = realpathSync(join(real, name));
      if (at.startsWith(`${root}/`)) return [name, { path: at, executable: isExecutable(at) }];
      return refuse(`'${join(path, name)}' is a link to '${at}', outside of the script's folder: put a copy there`);
    })),
    modules: files.filter(({ kind }) => kind === "module").map(({ name }) => name),
  };
}

const PATIENCE = 60_000;

/** Starts a built program in a folder where it is alone; says how its hooks and agents differ from those of the script. */
async function unlike(
  program: string,
  compile: boolean,
  expected: readonly HookRecord[],
  agents: KindsOfAgent | undefined,
  io: Io,
): Promise<string | undefined> {
  const [command, ...args] = compile ? [program] : [process.execPath, program];
  const env = { ...io.env, [ASKED]: "list" };
  const started = { command: command!, args, cwd: dirname(program), env, input: "" };
  const ended = await runProcess({ ...started, signal: io.signal, timeout: PATIENCE });
  if (ended.code !== 0) {
    const [said = ended.stderr] = /^\w*Error: .*/m.exec(ended.stderr) ?? [];
    return `asked for its hooks it ${howEnded(ended)}: ${said}`;
  }
  const inside = JSON.parse(ended.stdout.trim().split("\n").at(-1) || "{}");
  const { folder, inFiles = {} }: Partial<KindsOfAgent> = agents ?? {};
  const lost = Object.keys(inFiles).find((name) => !isDeepStrictEqual(inside.agents?.[name], inFiles[name]));
  if (lost) {
    return `agent '${lost}' is not that of '${folder}/${lost}.md': give the tool Agent the same options wherever it runs`;
  }
  const listed: readonly HookRecord[] = inside.hooks ?? [];
  const saidOf = (hook: HookRecord | undefined) => JSON.stringify({ ...hook, source: "" });
  const wrong = [...expected, ...listed].findIndex((_, i) => saidOf(listed[i]) !== saidOf(expected[i]));
  if (wrong < 0) return undefined;
  const named = (hooks: readonly HookRecord[]) => hooks[wrong] ? `'${hooks[wrong].name}'` : "none";
  return `hook ${wrong + 1} is ${named(expected)} in the script and ${named(listed)} in the program: ` +
    "give the agent 'from: import.meta.url', and hooks that do not depend on where it runs";
}
