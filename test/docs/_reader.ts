import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { scratch } from "../_scratch.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** `crochet` starts Bun whatever runs the tests: what a page shows is the same twice. */
export const skip = "Deno" in globalThis && "the page is played once, under Bun";

/** A project of someone who reads along. */
export interface Reader extends Disposable {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Writes a file of the project; one that begins with `#!` can be run. */
  write(path: string, text: string): void;
  /** Runs a command line in the project. */
  shell(command: string): Promise<{ code: number; said: string }>;
}

/** An empty project where `crochet` is installed, and a program on the path: `using project = reader()`. */
export function reader(): Reader {
  const folder = scratch();
  const at = (...path: string[]) => join(folder.path, ...path);
  const env = environment(at(".bin"), at(".home"));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), text);
    if (text.startsWith("#!")) chmodSync(at(path), 0o755);
  };
  for (const path of [".bin", ".home", "node_modules", ".home/.claude/projects/-a"]) {
    mkdirSync(at(path), { recursive: true });
  }
  const typed = { type: "user", promptSource: "typed", sessionId: "s1", message: { role: "user", content: "hi" } };
  writeFileSync(at(".home/.claude/projects/-a/s1.jsonl"), `${JSON.stringify(typed)}\n`);
  symlinkSync(ROOT, at("node_modules/crochet"));
  for (const name of ["@anthropic-ai", "@types", "fast-check"]) {
    symlinkSync(join(ROOT, "node_modules", name), at("node_modules", name));
  }
  symlinkSync(join(ROOT, "lib/cli/crochet"), at(".bin/crochet"));
  symlinkSync(join(ROOT, "node_modules/.bin/bun"), at(".bin/bun"));
  // The sources are checked once, by the project's CI, not by every page.
  const deno = join(ROOT, "node_modules/.bin/deno");
  write(".bin/deno", `#!/bin/sh\nc=$1; shift; exec ${deno} "$c" --no-check "$@"\n`);
  // npm's commands are those of the clone: that they exist is checked, and they are run by the project's own CI.
  const scripts = Object.keys(JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).scripts).join(" ");
  write(".bin/npm", `#!/bin/sh\n[ "$1" = run ] && shift; case " ${scripts} " in *" $1 "*) ;; *) exit 1 ;; esac\n`);
  write("deno.json", JSON.stringify({ imports: importMap(), nodeModulesDir: "manual" }));
  return {
    folder: folder.path,
    env,
    write,
    shell: (command) =>
      new Promise((resolve) => {
        const options = { cwd: folder.path, env, timeout: 180_000 };
        const shell = execFile("bash", ["-c", command], options, (error, stdout, stderr) => {
          const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
          resolve({ code, said: stdout + stderr });
        });
        shell.stdin!.end();
      }),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

function environment(bin: string, home: string): NodeJS.ProcessEnv {
  const { CROCHET_HOME: _, ...env } = process.env;
  return { ...env, HOME: home, PATH: `${bin}:${env.PATH}`, NO_COLOR: "1", ANTHROPIC_API_KEY: "key-of-a-test" };
}

/** Where Deno finds what is `crochet` to the reader. */
function importMap(): Record<string, string> {
  const imports: Record<string, string> = JSON.parse(readFileSync(join(ROOT, "deno.json"), "utf8")).imports;
  return Object.fromEntries(
    Object.entries(imports).map(([name, path]) => [name, pathToFileURL(join(ROOT, path)).href]),
  );
}

/** Plays a session of a page: after each `$` what is typed, below it what is then shown. */
export async function playSession(text: string, project: Reader): Promise<void> {
  for (const one of text.split(/^(?=\$ )/m)) {
    const [first, ...shown] = one.split("\n");
    assert.match(first!, /^\$ /);
    const { said } = await project.shell(`${first!.slice(2)} 2>&1`);
    assertShows(said, shown.join("\n"), first!);
  }
}

/** The lines a page shows must come, in their order; … stands for anything. */
function assertShows(output: string, shown: string, line: string): void {
  const lines = output.split("\n");
  let at = 0;
  for (const expected of shown.trimEnd().split("\n").filter((text) => text.trim() !== "" && text.trim() !== "…")) {
    const parts = expected.trim().split("…").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const pattern = new RegExp(`^\\s*${parts.join(".*")}\\s*$`);
    const found = lines.findIndex((text, i) => i >= at && pattern.test(text));
    assert.ok(found >= 0, `'${line}' does not show '${expected}' but:\n${output}`);
    at = found + 1;
  }
}
