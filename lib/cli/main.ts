import type { Actions } from "./kit/group.ts";
import type { Io } from "./kit/io.ts";

/** The commands of the kernel with what each does; each is loaded only when it is called. */
const KERNEL: Actions = {
  run: ["run an agent on a prompt", () => import("./run.ts")],
  record: ["run an agent, or any other program, and keep the run as a fixture", () => import("./record.ts")],
  replay: ["run recorded agents and programs again, without calling a model", () => import("./replay.ts")],
  fixtures: ["keep, list, show and scan recorded runs", () => import("./fixtures.ts")],
  tool: ["run one tool by hand", () => import("./tool.ts")],
  runs: ["list, show or remove the logs of runs", () => import("./runs.ts")],
  hooks: ["list, test, switch and install hooks", () => import("./hooks.ts")],
  trust: ["allow the hooks of a directory to run", () => import("./trust.ts")],
  hook: ["serve one hook file as a command hook of another host", () => import("./_hook-command.ts"), "programs"],
};

export async function commands(): Promise<Actions> {
  return { ...KERNEL, ...await (await import("./kit/extension.ts")).addedTo() };
}

/** Runs one command line and gives its exit code. */
export async function main(args: readonly string[], io: Io): Promise<number> {
  const { EXIT } = await import("./kit/io.ts");
  const { guarded } = await import("./kit/process.ts");
  return await guarded(args, io, async () => {
    const [name, ...rest] = args;
    if (name === undefined || name === "--json") {
      const ofHooks = Object.keys(await (await import("./kit/extension.ts")).addedTo("hooks"));
      const known = [...Object.keys(await commands()), ...ofHooks.map((action) => `hooks ${action}`)];
      return (await import("./_welcome.ts")).welcome(name, io, known);
    }
    if (name === "help" && rest.length > 0) return await main([...rest, "--help"], io);
    if (name === "--help" || name === "-h" || name === "help") {
      io.out(await overview());
      return EXIT.ok;
    }
    const [, load] = Object.hasOwn(KERNEL, name) ? KERNEL[name]! : await added(name, rest[0]);
    const { default: run } = await load();
    return await run(rest, io);
  });
}

async function added(name: string, next: string | undefined): Promise<Actions[string]> {
  const { actionOf } = await import("./kit/group.ts");
  return actionOf("", name, await commands(), ["help", "--help", "--json", "--version"], next);
}

async function overview(): Promise<string> {
  const rows = (await import("./kit/group.ts")).listedActions(await commands());
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
  if (args[1] === "hook" && !args[2]?.startsWith("-")) {
    const early = (await import("../extensions/early.ts")).HOOK[args[0]!];
    if (early) process.exit(await early(args.slice(2)).then(() => 0));
  }
  if (args[0] === "--version") return console.log((await import("../runtime/version.ts")).crochetVersion());
  refuseOldNode();
  if (args[0] === "hook") process.exit(await (await import("./_hook-command.ts")).hookProcess(args.slice(1)));
  const { boundCompiled, consoleAside, keepCompiled, outliveStrays } = await import("./kit/runtime.ts");
  if (!("Bun" in globalThis)) outliveStrays();
  // What scripts, tools and hooks print is not part of a command's output.
  consoleAside();
  keepCompiled();
  const { drained, processIo } = await import("./kit/process.ts");
  const code = await main(args, processIo({ careful: true }));
  await drained();
  boundCompiled();
  process.exit(code);
}

if (import.meta.main) await begin();
