import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratch } from "../_scratch.ts";

/** A machine where only some programs exist, and those of ours write down that they ran. */
export interface Stubs extends Disposable {
  readonly cwd: string;
  /** Runs a command line as the Bash tool does, and says which of our programs ran. */
  readonly ran: (command: string) => Set<string>;
}

const REAL = ["bash", "sh", "env", "xargs", "timeout", "nohup", "find", "cat", "nice", "true", "setsid"];

export function stubs(names: readonly string[]): Stubs {
  const folder = scratch();
  const bin = join(folder.path, "bin");
  let cwd = join(folder.path, "work");
  let count = 0;
  mkdirSync(bin);
  // Each run has its own folder, and the log beside it: what an earlier run left in the background writes elsewhere.
  for (const name of names) {
    writeFileSync(join(bin, name), `#!/bin/sh\nprintf '%s\\n' ${name} >> "$PWD.log"\n`, { mode: 0o755 });
  }
  for (const name of REAL) {
    symlinkSync(execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim(), join(bin, name));
  }
  return {
    get cwd() {
      return cwd;
    },
    ran: (command) => {
      cwd = join(folder.path, `work${count++}`);
      mkdirSync(cwd);
      spawnSync("bash", ["--norc", "--noprofile", "-c", 'eval "$1"; wait', "bash", command], {
        cwd,
        env: { PATH: bin },
        stdio: "ignore",
        timeout: 5000,
        killSignal: "SIGKILL",
      });
      const log = `${cwd}.log`;
      const names = existsSync(log) ? readFileSync(log, "utf8").split("\n").filter(Boolean) : [];
      rmSync(cwd, { recursive: true, force: true });
      return new Set(names);
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}
