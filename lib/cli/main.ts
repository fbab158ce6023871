import type { Actions } from "./_flags.ts";
import type { Io } from "./_io.ts";

/** Every command with what it does; each is loaded only when it is called. */
export const commands = (): Actions => ({
  run: ["run an agent on a prompt", () => import("./run.ts")],
  chat: ["talk with an agent", () => import("./chat.ts")],
  record: ["run an agent and keep the run as a fixture", () => import("./record.ts")],
  replay: ["run recorded agents again, without calling a model", () => import("./replay.ts")],
  attack: ["search for a run of the worst model that breaks a property", () => import("./attack.ts")],
  eval: ["run recorded agents live and report how often they pass", () => import("./eval.ts")],
  tape: ["record and replay any other agent through a local server", () => import("./tape.ts")],
  fixtures: ["add, list, show, import and scan recorded runs", () => import("./fixtures.ts")],
  tool: ["run one tool by hand", () => import("./tool.ts")],
  agent: ["prepare another host's agent to be watched", () => import("./agent.ts")],
  agents: ["what each running or watched agent is doing", () => import("./agents.ts")],
  transcripts: ["list, show or remove stored sessions", () => import("./transcripts.ts")],
  view: ["show a run as an HTML page", () => import("./view.ts")],
  hooks: ["list, test, check, switch and install hooks", () => import("./hooks.ts")],
  trust: ["allow the hooks of a directory to run", () => import("./trust.ts")],
  doctor: ["find what is broken or missing, and how to fix it", () => import("./doctor.ts")],
  build: ["make one file or one binary of an agent and its hooks", () => import("./build.ts")],
  init: ["scaffold an agent with a hook and a test", () => import("./init.ts")],
  worker: ["serve agents to a durable engine", () => import("./worker.ts")],
  hook: ["serve one hook file as a command hook of another host", () => import("./_hook-command.ts")],
});

/** Runs one command line and gives its exit code. */
export async function main(args: readonly string[], io: Io): Promise<number> {
  const { EXIT } = await import("./_io.ts");
  const { guarded } = await import("./_process.ts");
  return await guarded(args, io, async () => {
    const [name, ...rest] = args;
    if (name === "--version") {
      io.out(`${(await import("../runtime/version.ts")).crochetVersion()}\n`);
      return EXIT.ok;
    }
    if (name === undefined || name === "--json") return (await import("./_welcome.ts")).welcome(name, io);
    if (name === "help" && rest.length > 0) return await main([...rest, "--help"], io);
    if (name === "--help" || name === "-h" || name === "help") {
      io.out(await overview());
      return EXIT.ok;
    }
    const all = commands();
    const command = Object.hasOwn(all, name) ? all[name] : undefined;
    if (!command) {
      const { unknownCommand } = await import("./_flags.ts");
      throw unknownCommand("", name, [...Object.keys(all), "help", "--help", "--json", "--version"]);
    }
    const { default: run } = await command[1]();
    return await run(rest, io);
  });
}

async function overview(): Promise<string> {
  const { listed } = await import("./_flags.ts");
  const rows = listed(Object.entries(commands()).map(([name, [about]]) => [name, about]));
  return `crochet: hooks and loops for LLM agents\n\n${rows.join("\n")}\n\ncrochet <command> --help shows more\n`;
}

/** Changes to the directory the launcher was called in. */
function goBack(): void {
  const { CROCHET_FROM: from } = process.env;
  delete process.env.CROCHET_FROM;
  try {
    if (from !== undefined) process.chdir(from);
  } catch {
    if (process.argv[2] === "hook") return process.chdir("/");
    console.error(`crochet: Cannot work in '${from}' as that directory is gone: go to another one`);
    process.exit(1);
  }
}

/** Without Bun and Deno the launcher takes any Node; an old one would fail with an error of its own. */
function refuseOldNode(): void {
  if ("withResolvers" in Promise) return;
  const fix = "use Bun, Deno, or Node 22.18 or newer";
  console.error(`crochet: Cannot run on Node ${process.versions.node} as it is too old: ${fix}`);
  if (process.argv[2] !== "hook") process.exit(2);
  // As the launcher does without a runtime.
  const { CROCHET_ABSENT: absent } = process.env;
  if (absent) process.stdout.write(absent);
  process.exit(absent ? 0 : 1);
}

/** The whole of a process that is started as `crochet`. */
export async function begin(): Promise<void> {
  if (!import.meta.url.startsWith("file:")) {
    console.error("crochet: Cannot run commands from an address as they start files: deno run -A npm:crochet");
    process.exit(2);
  }
  goBack();
  const args = process.argv.slice(2);
  // Started for every event of another host, so it loads nothing else.
  if (args[0] === "agent" && args[1] === "hook" && !args[2]?.startsWith("-")) {
    await (await import("../monitor/note.ts")).noteEvent(args.slice(2), process.env);
    process.exit(0);
  }
  refuseOldNode();
  if (args[0] === "hook") process.exit(await (await import("./_hook-command.ts")).hookProcess(args.slice(1)));
  const { boundCompiled, consoleAside, keepCompiled, outliveStrays } = await import("./_runtime.ts");
  if (!("Bun" in globalThis)) outliveStrays();
  // What scripts, tools and hooks print is not part of a command's output.
  consoleAside();
  keepCompiled();
  const { drained, processIo } = await import("./_process.ts");
  const code = await main(args, processIo({ careful: true }));
  await drained();
  boundCompiled();
  process.exit(code);
}

if (import.meta.main) await begin();
