/**
 * The README and every page under docs is a story that is lived through: its files are written, its commands are run,
 * in their order, in one empty folder, against a scripted model.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { scriptedServer } from "../../lib/testing/index.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Lived through by tests of their own, with what they need. */
const ELSEWHERE = ["test-your-hooks.md", "durable.md"];
const SCRIPTS = Object.keys(JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).scripts);

interface Block {
  readonly language: string;
  readonly text: string;
  readonly line: number;
}

function blocksOf(page: string): Block[] {
  return [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map((m) => ({
    language: m[1]!,
    text: m[2]!,
    line: page.slice(0, m.index).split("\n").length,
  }));
}

/** The name a block gives its file, in a comment on its first line: `// agent.ts`, `# hooks/stop.sh`. */
function fileOf({ text }: Block): string | undefined {
  const lines = text.split("\n");
  const first = lines[0]!.startsWith("#!") ? lines[1]! : lines[0]!;
  return /^(?:\/\/|#) ([\w@+./-]+\.\w+)$/.exec(first)?.[1];
}

/** A folder as a user of the package has it: `crochet` is installed, and a program on the path. */
function workspace(): { dir: string; env: NodeJS.ProcessEnv } {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "crochet-page-")));
  const bin = join(dir, ".bin");
  const home = join(dir, ".home");
  for (const folder of [bin, home, join(dir, "node_modules")]) mkdirSync(folder);
  symlinkSync(ROOT, join(dir, "node_modules", "crochet"));
  symlinkSync(join(ROOT, "node_modules/@types"), join(dir, "node_modules", "@types"));
  symlinkSync(join(ROOT, "lib/cli/crochet"), join(bin, "crochet"));
  symlinkSync(join(ROOT, "node_modules/.bin/bun"), join(bin, "bun"));
  // The sources are checked once, by the project's CI, not by every page.
  program(join(bin, "deno"), `c=$1; shift; exec ${join(ROOT, "node_modules/.bin/deno")} "$c" --no-check "$@"`);
  // npm's commands are those of the clone: that they exist is checked, and they are run by the project's own CI.
  program(join(bin, "npm"), `[ "$1" = run ] && shift; case " ${SCRIPTS.join(" ")} " in *" $1 "*) ;; *) exit 1 ;; esac`);
  const imports: Record<string, string> = JSON.parse(readFileSync(join(ROOT, "deno.json"), "utf8")).imports;
  const mapped = Object.fromEntries(
    Object.entries(imports).map(([name, path]) => [name, pathToFileURL(join(ROOT, path)).href]),
  );
  writeFileSync(join(dir, "deno.json"), JSON.stringify({ imports: mapped, nodeModulesDir: "manual" }));
  const env = {
    ...process.env,
    HOME: home,
    PATH: `${bin}:${process.env.PATH}`,
    NO_COLOR: "1",
    ANTHROPIC_API_KEY: "key-of-a-test",
  };
  delete (env as NodeJS.ProcessEnv).CROCHET_HOME;
  return { dir, env };
}

function program(path: string, script: string): void {
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}

function shell(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<{ code: number; said: string }> {
  return new Promise((resolve) => {
    execFile("bash", ["-c", command], { cwd, env, timeout: 120_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : typeof error.code === "number" ? error.code : -1, said: stdout + stderr });
    });
  });
}

const pages = [
  join(ROOT, "README.md"),
  ...readdirSync(join(ROOT, "docs")).filter((f) => f.endsWith(".md")).map((f) => join(ROOT, "docs", f)),
]
  .filter((path) => !ELSEWHERE.includes(basename(path)));

for (const path of pages) {
  const page = readFileSync(path, "utf8");
  test(`what ${path.slice(ROOT.length)} tells to do works as it stands`, async () => {
    const { dir, env } = workspace();
    const server = await scriptedServer([], { then: { text: "Done, and tested." } });
    env.ANTHROPIC_BASE_URL = server.url;
    try {
      await shell("git init -q . && git config user.email a@b && git config user.name a", dir, env);
      for (const block of blocksOf(page)) {
        const file = fileOf(block);
        if (file !== undefined) {
          mkdirSync(dirname(join(dir, file)), { recursive: true });
          writeFileSync(join(dir, file), block.text);
          if (block.text.startsWith("#!")) chmodSync(join(dir, file), 0o755);
        } else if (block.language === "sh") await lineByLine(block, dir, env);
      }
    } finally {
      await server.close();
      rmSync(dir, { recursive: true });
    }
  });
}

/** Each line is a command; a comment that ends in `exit N` says what it is expected to end with. */
async function lineByLine({ text, line }: Block, dir: string, env: NodeJS.ProcessEnv): Promise<void> {
  for (const [i, command] of text.split("\n").entries()) {
    if (command.trim() === "" || command.startsWith("#") || command.startsWith("export ANTHROPIC_API_KEY")) continue;
    const wanted = Number(/# .*\bexit (\d+)/.exec(command)?.[1] ?? 0);
    const { code, said } = await shell(command, dir, env);
    assert.equal(code, wanted, `line ${line + 1 + i}: ${command}\n${said}`);
  }
}
