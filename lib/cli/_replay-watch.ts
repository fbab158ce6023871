import { watch } from "node:fs";
import { ownArgv } from "../hooks/own-command.ts";
import { runProcess } from "../process/process.ts";
import { type Flags, kebab } from "./_flags.ts";
import { EXIT, type Io } from "./_io.ts";

/** Changes that no agent and no tape depends on, and those that a replay itself makes. */
const UNWATCHED = /(?:^|\/)(?:node_modules|\.git|\.crochet|dist)(?:\/|$)|~$|\.sw[px]$|\.tmp$/;

/** Editors write a file in several steps. */
const SETTLES_MS = 100;

/** Replays in a process of its own, as code is loaded once per process, and again when a file of the project changes. */
export async function watchFixtures(words: readonly string[], flags: Flags["flags"], io: Io): Promise<number> {
  const given = Object.entries(flags).filter(([name]) => name !== "watch")
    .flatMap(([name, value]) =>
      value === true ? [`--${kebab(name)}`] : value === undefined ? [] : [`--${kebab(name)}`, String(value)]
    );
  const [command, ...args] = ownArgv("cli/main", "replay", ...words, ...given);
  let changed = Promise.withResolvers<void>();
  const watcher = watch(io.cwd, { recursive: true }, (_, path) => {
    if (path === null || !UNWATCHED.test(path)) changed.resolve();
  });
  io.signal.addEventListener("abort", () => changed.resolve(), { once: true });
  try {
    while (!io.signal.aborted) {
      changed = Promise.withResolvers<void>();
      const { stdout, stderr } = await runProcess({ command, args, cwd: io.cwd, env: io.env, signal: io.signal });
      if (io.signal.aborted) break;
      io.out(stdout);
      io.err(stderr);
      io.out("\nwaiting for a change, Ctrl-C ends\n");
      await changed.promise;
      await new Promise((resolve) => setTimeout(resolve, SETTLES_MS));
    }
    return EXIT.interrupted;
  } finally {
    watcher.close();
  }
}
