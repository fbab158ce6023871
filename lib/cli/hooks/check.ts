import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { HOSTS, isHost } from "../../hooks/serving/from-host.ts";
import { standings } from "../../hooks/trust.ts";
import type { CheckOptions } from "../../testing/check/check.ts";
import { command, type Flags, type Usage } from "../_flags.ts";
import { EXIT, type Io, UsageError } from "../_io.ts";
import { coloursFor } from "../show/colours.ts";
import { checkText } from "./_check-view.ts";
import { projectOf } from "../_project.ts";

const USAGE: Usage = {
  name: "hooks check",
  words: "[file | folder | settings.json | hooks.json ...]",
  about: "Tries hooks on generated events in a scratch workspace, and reports the laws they break.",
  flags: [
    ["--runs <n>", "generated events for each hook (100)"],
    ["--seed <n>", "the same seed makes the same events"],
    ["--for <host>", "the host that runs them: claude, codex or gemini (by the path, else claude)"],
    ["--event <name>", "the event, if the file's name does not say it: stop, pre-tool-use@Bash"],
    ["--timeout <seconds>", "time for one answer (5)"],
    ["--rounds <n>", "how often a Stop hook may send an agent back before it counts as endless (50)"],
    ["--cwd <dir>", "the project"],
    ["--json", "print data"],
    ["--junit", "print JUnit XML"],
  ],
  example: "crochet hooks check hooks --runs 200",
};

/** Exit code 1 if a law is broken or something could not be checked; warnings do not count. */
export default command(USAGE, async ({ words, flags }, io) => {
  const cwd = projectOf(flags, io);
  const { paths, untrusted } = words.length === 0 ? trustedPaths(cwd, io) : { paths: words, untrusted: [] };
  const missing = paths.find((path) => !existsSync(resolve(cwd, path)));
  if (missing !== undefined) {
    throw new UsageError(
      `Cannot check '${missing}': there is no such file or folder. Name a hook, a folder of hooks or a settings file`,
    );
  }
  const options = optionsOf(flags, cwd, io);
  const { check } = await import("../../testing/check/check.ts");
  const began = performance.now();
  const progress = io.tty && !flags.json && !flags.junit ? new Progress(io) : undefined;
  const found = await check(paths, {
    ...options,
    ...(progress && { onProgress: progress.tick, onHook: ({ hook }) => progress.end(hook) }),
  }).catch((error) => {
    throw error instanceof TypeError ? new UsageError(error.message, { cause: error }) : error;
  });
  progress?.clear();
  const report = { ...found, ok: found.ok && untrusted.length === 0, problems: [...untrusted, ...found.problems] };
  if (report.hooks.length === 0 && report.problems.length === 0) {
    throw new UsageError(
      `There is no hook to check${
        words.length === 0 ? " here" : ` in ${words.join(", ")}`
      }: name a hook file, a folder or settings`,
    );
  }
  if (flags.json) io.out(`${JSON.stringify(report, null, 2)}\n`);
  else if (flags.junit) io.out((await import("./_check-junit.ts")).checkJunit(report));
  else {
    const columns = io.tty ? process.stdout.columns || 100 : Infinity;
    io.out(checkText(report, (performance.now() - began) / 1000, coloursFor(io.tty, io.env), columns));
  }
  if (io.signal.aborted) return EXIT.interrupted;
  return report.ok ? EXIT.ok : EXIT.failed;
});

/** Trusted hooks of the project. A path on the command line is trusted for the call; what is only found has to be. */
function trustedPaths(cwd: string, io: Io): { paths: string[]; untrusted: string[] } {
  const known = standings(cwd, io.env).filter(({ thing }) => thing !== ".crochet/config.yaml" && thing !== ".mcp.json");
  const others = [".codex/hooks.json", ".codex/config.toml", ".gemini/settings.json", "hooks/hooks.json"];
  const untrusted = [
    ...known.filter(({ state }) => state !== "trusted").map(({ thing, state }) =>
      `${thing} was not checked: it ${state === "changed" ? "changed since it was trusted" : "is not trusted"}. ` +
      `Run 'crochet trust', or name it: crochet hooks check ${thing}`
    ),
    ...others.filter((path) => existsSync(resolve(cwd, path))).map((path) =>
      `${path} was not checked: name it: crochet hooks check ${path}`
    ),
  ];
  return { paths: known.filter(({ state }) => state === "trusted").map(({ thing }) => thing), untrusted };
}

function optionsOf(flags: Flags["flags"], cwd: string, io: Io): CheckOptions {
  const host = flags.for;
  if (host !== undefined && !isHost(host)) {
    throw new UsageError(`Unknown host '${host}': expected ${HOSTS.join(", ")}`);
  }
  return {
    cwd,
    env: io.env,
    signal: io.signal,
    ...(host && { host }),
    ...(typeof flags.event === "string" && { event: flags.event }),
    ...number("runs", flags.runs),
    ...number("seed", flags.seed),
    ...number("timeout", flags.timeout),
    ...number("rounds", flags.rounds),
  };
}

function number(name: string, given: string | boolean | undefined): { [name: string]: number } {
  if (given === undefined) return {};
  const value = Number(given);
  if (typeof given === "string" && given.trim() !== "" && Number.isFinite(value)) return { [name]: value };
  throw new UsageError(`Cannot read --${name} ${given}: it is not a number`);
}

/** One line that is written over and over while hooks are asked. */
class Progress {
  readonly #io: Io;
  readonly #runs = new Map<string, number>();
  #done = 0;
  #shown = 0;

  constructor(io: Io) {
    this.#io = io;
  }

  readonly tick = (hook: string, runs: number): void => {
    this.#runs.set(hook, runs);
    const now = Date.now();
    if (now - this.#shown < 80) return;
    this.#shown = now;
    const each = [...this.#runs].map(([name, n]) => `${name} ${n}`).join(" · ");
    const width = (process.stdout.columns || 80) - 1;
    this.#io.err(`\r\u001b[2K${`checking  ${this.#done} done  ${each}`.slice(0, width)}`);
  };

  end(hook: string): void {
    this.#runs.delete(hook);
    this.#done++;
  }

  clear(): void {
    this.#io.err("\r\u001b[2K");
  }
}
