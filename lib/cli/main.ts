import { type Command, EXIT, type Io, UsageError } from "./_io.ts";
import { drained, guarded, processIo } from "./_process.ts";

/** Every command with what it does; each is loaded only when it is called. */
const COMMANDS: { readonly [name: string]: readonly [about: string, load: () => Promise<{ default: Command }>] } = {
  run: ["run an agent on a prompt", () => import("./run.ts")],
  record: ["run an agent and keep the run as a fixture", () => import("./record.ts")],
  replay: ["run recorded agents again, without a model", () => import("./replay.ts")],
  fixtures: ["list, show, scan and prune recorded runs", () => import("./fixtures.ts")],
  tool: ["run one tool by hand", () => import("./tool.ts")],
  agent: ["prepare the settings of a watched agent", () => import("./agent.ts")],
  agents: ["watched agents at a glance", () => import("./agents.ts")],
  transcripts: ["list, show or remove stored sessions", () => import("./transcripts.ts")],
  hooks: ["list, try, switch and install hooks", () => import("./hooks.ts")],
  trust: ["let the hooks of a directory run", () => import("./trust.ts")],
  hook: ["serve one hook file as a command hook of another host", () => import("./hook.ts")],
};

/** Runs one command line and gives its exit code. */
export function main(args: readonly string[], io: Io): Promise<number> {
  return guarded(args, io, async () => {
    const [name, ...rest] = args;
    if (name === undefined || name === "--help" || name === "-h" || name === "help") {
      io.out(overview());
      return EXIT.ok;
    }
    const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (!command) {
      const { nearest } = await import("../core/names.ts");
      const near = nearest(name, Object.keys(COMMANDS));
      throw new UsageError(`Cannot run '${name}' as there is no such command: did you mean 'crochet ${near}'?`);
    }
    const { default: run } = await command[1]();
    return await run(rest, io);
  });
}

function overview(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((n) => n.length)) + 2;
  const rows = Object.entries(COMMANDS).map(([name, [about]]) => `  ${name.padEnd(width)}${about}`);
  return ["crochet: hooks and loops for LLM agents", "", ...rows, "", "crochet <command> --help tells more", ""].join(
    "\n",
  );
}

if (import.meta.main) {
  const code = await main(process.argv.slice(2), processIo());
  await drained();
  process.exit(code);
}
