/**
 * What `crochet hooks check --runs 200` costs against 200 bare calls of the hook, interleaved in one run: `bun
 * hooks-check.ts [--rounds N] [--only KIND] [--json]`. A check may take three times the bare calls and one start of the CLI. Bare calls
 * of a module are those to one child that is asked 200 times; of a command, a process each. Read the ratios; the times are
 * this machine's. Exit code 1 where a ratio is missed, but not with --json.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { median } from "./_measure.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "9" },
    only: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const RUNS = 200;
const MOST = 3;
const cli = fileURLToPath(new URL("../lib/cli/crochet", import.meta.url));
const root = realpathSync(
  mkdtempSync(join(tmpdir(), "crochet-bench-hooks-check-")),
);

interface Measured {
  readonly file: string;
  readonly text: string;
  /** What it is asked bare, as one of its kind reads it. */
  readonly event: object;
}

const READS = "#!/bin/sh\nevent=$(cat)\n";

/** Those that guard a tool, and those that keep an agent going: of the latter whole conversations are played. */
const HOOKS: { readonly [kind: string]: Measured } = {
  "module, guard": {
    file: "pre-tool-use@Bash.tiny.ts",
    text:
      `export default ({ input }: any) => /rm -rf/.test(String(input.command)) ? { action: "deny", reason: "no" } : undefined;\n`,
    event: { input: { command: "ls" } },
  },
  "module, stop": {
    file: "stop.tiny.ts",
    text:
      `export default ({ stop_hook_active, last_assistant_message }: any) => stop_hook_active || /done/i.test(last_assistant_message) ? undefined : { action: "deny", reason: "not done" };\n`,
    event: { stop_hook_active: false, last_assistant_message: "Okay." },
  },
  "command, guard": {
    file: "pre-tool-use@Bash.tiny.sh",
    text: `${READS}exit 0\n`,
    event: { tool_input: { command: "ls" } },
  },
  "command, stop": {
    file: "stop.tiny.sh",
    text: `${READS}case "$event" in *'"stop_hook_active":true'*) exit 0 ;; esac\necho 'not done' >&2\nexit 2\n`,
    event: { stop_hook_active: false },
  },
};

/** Asks a hook so many times, by itself; started as a process, as a check is. */
function bareOf({ file, event }: Measured): string {
  const line = JSON.stringify(JSON.stringify(event));
  return file.endsWith(".ts")
    ? `
import { spawn } from "node:child_process";
if (process.argv[2] === "child") {
  const { default: hook } = await import("./hooks/${file}");
  process.stdin.on("data", async (data) => {
    for (const line of String(data).split("\\n").filter(Boolean)) {
      await hook(JSON.parse(line));
      process.stdout.write("ok\\n");
    }
  });
} else {
  const child = spawn(process.execPath, [process.argv[1], "child"], { stdio: ["pipe", "pipe", "inherit"] });
  for (let i = 0; i < ${RUNS}; i++) {
    const answered = new Promise((resolve) => child.stdout.once("data", resolve));
    child.stdin.write(${line} + "\\n");
    await answered;
  }
  child.stdin.end();
}`
    : `
import { spawn } from "node:child_process";
for (let i = 0; i < ${RUNS}; i++) {
  await new Promise((resolve) => {
    const child = spawn("hooks/${file}", { stdio: "pipe" });
    child.stdin.end(${line});
    child.on("close", resolve);
  });
}`;
}

/** Milliseconds of a whole process. */
async function took(
  command: string,
  args: readonly string[],
  cwd: string,
): Promise<number> {
  const start = performance.now();
  const child = spawn(command, args, {
    cwd,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [code] = await once(child, "exit");
  if (code !== 0) {
    throw new Error(
      `Cannot measure '${args[0]}' as it ended with code ${code}`,
    );
  }
  return performance.now() - start;
}

const results = [];
try {
  for (const [kind, hook] of Object.entries(HOOKS)) {
    if (values.only && values.only !== kind) continue;
    const folder = join(root, kind);
    mkdirSync(join(folder, "hooks"), { recursive: true });
    writeFileSync(join(folder, "hooks", hook.file), hook.text);
    chmodSync(join(folder, "hooks", hook.file), 0o755);
    writeFileSync(join(folder, "bare.ts"), bareOf(hook));
    const times: { bare: number[]; start: number[]; check: number[] } = {
      bare: [],
      start: [],
      check: [],
    };
    for (let i = 0; i <= Number(values.rounds); i++) {
      const round = {
        bare: await took(process.execPath, ["bare.ts"], folder),
        start: await took(cli, ["--version"], folder),
        check: await took(cli, [
          "hooks",
          "check",
          "hooks",
          "--runs",
          String(RUNS),
          "--seed",
          String(i),
        ], folder),
      };
      // The first round warms up.
      if (i > 0) {
        for (const what of ["bare", "start", "check"] as const) {
          times[what].push(round[what]);
        }
      }
    }
    const each = times.check.map((check, i) => check / (MOST * times.bare[i]! + times.start[i]!));
    const result = {
      kind,
      of_allowed: median(each),
      check_ms: median(times.check),
      allowed_ms: MOST * median(times.bare) + median(times.start),
      bare_ms: median(times.bare),
      start_ms: median(times.start),
    };
    results.push(result);
    if (values.json) continue;
    const ms = (time: number) => `${Math.round(time)} ms`;
    console.log(
      `${result.of_allowed <= 1 ? "ok    " : "MISSED"} ${kind.padEnd(14)} ${
        (100 * result.of_allowed).toFixed(0)
      } % of what it may take: ${ms(result.check_ms)} of ${ms(result.allowed_ms)} (${MOST} × ${RUNS} bare calls in ${
        ms(result.bare_ms)
      }, and a start in ${ms(result.start_ms)})`,
    );
  }
} finally {
  rmSync(root, { recursive: true, force: true });
}
if (values.json) console.log(JSON.stringify(results));
process.exit(values.json || results.every(({ of_allowed }) => of_allowed <= 1) ? 0 : 1);
