import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { comparePage, runPage } from "../view/html.ts";
import { command, type Usage } from "./_flags.ts";
import { EXIT, type Io, UsageError } from "./_io.ts";
import { stateDir } from "../files/state-dir.ts";
import { privateDir, projectOf } from "./_project.ts";
import { findView } from "./_view-source.ts";

const USAGE: Usage = {
  name: "view",
  words: "[run | fixture | rollout]",
  about: "Draws a run as one HTML file: timeline, conversation, diffs, hooks, tokens. Without a name: the newest run.",
  flags: [
    ["--out <file>", "where to write it"],
    ["--open", "open it in the browser"],
    ["--diff", "draw two runs beside each other: crochet view --diff A B"],
    ["--cwd <dir>", "the project"],
    ["--json", "print data"],
    ["--debug", "show where an error came from"],
  ],
  example: "crochet view",
};

export default command(USAGE, async ({ words, flags }, io) => {
  const cwd = projectOf(flags, io);
  const wanted = flags.diff === true ? 2 : 1;
  if (words.length > wanted || (flags.diff === true && words.length < 2)) {
    throw new UsageError(
      flags.diff === true
        ? `Cannot compare ${words.length} runs as it takes two: crochet view --diff A B`
        : `Cannot view ${words.length} runs at once: crochet view --diff ${words.slice(0, 2).join(" ")}`,
    );
  }
  const { name, html } = flags.diff === true ? await compared(words, cwd, io) : await drawn(words[0], cwd, io);
  const path = write(html, name, flags.out, cwd, io);
  if (flags.json === true) io.out(`${JSON.stringify({ path, bytes: Buffer.byteLength(html) })}\n`);
  else tell(path, html, flags.open === true, io);
  if (flags.open === true) await openIn(path, io);
  return EXIT.ok;
});

async function drawn(given: string | undefined, cwd: string, io: Io): Promise<{ name: string; html: string }> {
  const { name, view } = await findView(given, cwd, io);
  return { name, html: runPage(view) };
}

async function compared([a, b]: readonly string[], cwd: string, io: Io): Promise<{ name: string; html: string }> {
  const { alignRuns } = await import("../view/align.ts");
  const one = await findView(a, cwd, io);
  const other = await findView(b, cwd, io);
  const pairs = await alignRuns(one.view, other.view);
  return { name: `${one.name}-and-${other.name}`, html: comparePage(one.view, other.view, pairs) };
}

/** Beside the project's runs unless told otherwise; a page shows what the run saw, so it is the user's alone to read. */
function write(html: string, name: string, out: string | boolean | undefined, cwd: string, io: Io): string {
  const folder = out === undefined ? privateDir(join(stateDir(cwd, io.env), "views")) : undefined;
  const path = folder === undefined ? resolve(io.cwd, String(out)) : join(folder, `${fileName(name)}.html`);
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, html, { mode: 0o600 });
  } catch (error) {
    throw new Error(`Cannot write ${path} as ${(error as { code?: string }).code ?? error}: give another --out`);
  }
  return path;
}

function fileName(name: string): string {
  return name.replace(/[^\w.-]+/g, "-").slice(0, 120);
}

function tell(path: string, html: string, opens: boolean, io: Io): void {
  if (!io.tty) return io.out(`${path}\n`);
  const near = relative(io.cwd, path);
  const shown = near.startsWith("..") ? path : near;
  io.out(`wrote ${shown} (${Math.ceil(Buffer.byteLength(html) / 1024)} KB)\n`);
  if (!opens) io.out(`open it in a browser: ${opener(io)} ${shown}, or add --open\n`);
}

function opener(io: Io): string {
  return io.env.BROWSER || (process.platform === "darwin" ? "open" : "xdg-open");
}

/** Starts the browser and leaves it; one that cannot be started is said, and the file is there all the same. */
async function openIn(path: string, io: Io): Promise<void> {
  const failed = await new Promise<string | undefined>((done) => {
    const child = spawn(opener(io), [path], { detached: true, stdio: "ignore", env: io.env as NodeJS.ProcessEnv });
    child.once("error", (error) => done((error as { code?: string }).code ?? error.message));
    child.once("spawn", () => {
      child.unref();
      done(undefined);
    });
  });
  if (failed !== undefined) {
    io.err(`crochet: Cannot open a browser as ${opener(io)} does not start (${failed}): open ${path} yourself\n`);
  }
}
