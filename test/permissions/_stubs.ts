import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratch } from "../_scratch.ts";
import { removeTree } from "../../lib/files/tree.ts";

/** A machine where only some programs exist, and those of ours write down that they ran. */
export interface Stubs extends Disposable {
  readonly cwd: string;
  /** Runs a command line as the Bash tool does, and returns which of our programs ran. */
  readonly ran: (command: string) => Set<string>;
}

const REAL =
  ("bash sh env xargs timeout nohup find cat nice true setsid ls wc head tail grep sort uniq cut tr git rg " +
    "printf test which tee cp mv sed awk").split(" ");

/** A workspace with `files`, and programs called `names`. */
export function stubs(names: readonly string[], files: readonly string[] = []): Stubs {
  const folder = scratch();
  const [bin, cwd, log] = [join(folder.path, "bin"), join(folder.path, "work"), join(folder.path, "log")];
  mkdirSync(bin);
  const prepare = () => {
    removeTree(cwd);
    rmSync(log, { force: true });
    mkdirSync(cwd);
    for (const file of files) writeFileSync(join(cwd, file), "pwned\n#!/bin/sh\npwned\n", { mode: 0o755 });
  };
  prepare();
  for (const name of names) {
    writeFileSync(join(bin, name), `#!/bin/sh\nprintf '%s\\n' ${name} >> '${log}'\n`, { mode: 0o755 });
  }
  for (const name of REAL) {
    const path = execFileSync("sh", ["-c", `command -v ${name} || true`], { encoding: "utf8" }).trim();
    if (path.startsWith("/")) symlinkSync(path, join(bin, name));
  }
  return {
    cwd,
    ran: (command) => {
      prepare();
      spawnSync("bash", ["--norc", "--noprofile", "-c", 'eval "$1" </dev/null; wait', "bash", command], {
        cwd,
        env: { PATH: bin, HOME: cwd, x: "a[$(pwned)]" },
        stdio: "ignore",
        timeout: 5000,
        killSignal: "SIGKILL",
      });
      return new Set(existsSync(log) ? readFileSync(log, "utf8").split("\n").filter(Boolean) : []);
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}
