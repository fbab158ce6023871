import { statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { nearest } from "../../input/nearest.ts";
import { hasState, stateFolder, writeStateFile } from "../../files/state.ts";
import { findFixture, FIXTURES, fixturesIn } from "../../replay/fixture.ts";
import { readLoggedRun } from "../../log/logged-run.ts";
import { pageText, writePage } from "../../cli/show/write-page.ts";
import { comparePage, runPage } from "./html.ts";
import { type Viewed, viewOf, viewOfFixture } from "./view-of-run.ts";
import { type Drawn, giftOf } from "../../cli/kit/extension.ts";
import { command, type Usage } from "../../cli/kit/flags.ts";
import { type Io, UsageError } from "../../cli/kit/io.ts";
import { several } from "../../cli/show/text.ts";
import { logMeant, logsOf, newestFirst, runId } from "../../cli/kit/project.ts";

const USAGE: Usage = {
  name: "view",
  words: "[run | fixture | log | eval] [another]",
  about:
    "Draws a run as one HTML file: timeline, conversation, diffs, hooks, tokens. Without a name, or with 'last': the newest run, fixture or eval. " +
    "Of an eval: its report, with the pages of its runs beside it.",
  flags: [
    ["--out <file>", "where to write it"],
    ["--diff", "draw two runs side by side: crochet view --diff A B"],
    ["--drift", "replay it, and draw the first request that is not as recorded beside the recorded one"],
    ["--trust", "with --drift: trust it for this call, as its agent, tools and commands are run"],
    ["--json", "print JSON"],
  ],
  excludes: [["drift", ["diff"], "one replays a run, the other compares two"]],
  example: "crochet view",
};

export default command(USAGE, async ({ words, flags }, io) => {
  const { cwd } = io;
  if ((words.length === 2) !== (flags.diff === true)) {
    throw new UsageError(
      `Cannot view ${several(words.length, "run")} like this: crochet view A, or crochet view --diff A B`,
    );
  }
  const { name, html, beside } = flags.diff === true
    ? await compared(words, cwd, io)
    : flags.drift === true
    ? await (await import("./drift.ts")).driftOf(words[0] ?? "last", flags, io)
    : await drawn(words[0], cwd, io);
  const path = write(html, name, flags.out, cwd, io);
  for (const [run, page] of await beside?.() ?? []) write(page, run, join(dirname(path), run), cwd, io);
  return { data: { path, bytes: Buffer.byteLength(html) }, text: pageText(path, html, io) };
});

async function drawn(given: string | undefined, cwd: string, io: Io): Promise<Drawn> {
  const pages = await giftOf("pages");
  const meant = given === undefined || given === "last" ? newest(cwd, io, pages?.files(cwd, io) ?? []) : given;
  const other = await pages?.draw(meant, cwd, io);
  if (other) return other;
  const { name, view } = await findView(meant, cwd, io);
  return { name, html: runPage(view) };
}

async function compared([a, b]: readonly string[], cwd: string, io: Io): Promise<Drawn> {
  const { alignRuns } = await import("./align.ts");
  const find = (given: string) => findView(given === "last" ? newest(cwd, io, []) : given, cwd, io);
  const [one, other] = [await find(a!), await find(b!)];
  const pairs = await alignRuns(one.view, other.view);
  return { name: `${one.name}-and-${other.name}`, html: comparePage(one.view, other.view, pairs) };
}

/** Writes beside the project's runs by default; a page shows what the run saw, so only its user may read it. */
function write(html: string, name: string, out: string | boolean | undefined, cwd: string, io: Io): string {
  const folder = out === undefined ? stateFolder(cwd, io.env, "views") : undefined;
  const path = folder === undefined
    ? resolve(io.cwd, String(out))
    : join(folder, `${name.replace(/[^\w.-]+/g, "-").slice(0, 120)}.html`);
  if (folder === undefined) writePage(path, html);
  else writeStateFile(path, html);
  return path;
}

/** Finds what a person means: a run by its id or the beginning of it, a fixture, a log. */
async function findView(given: string, cwd: string, io: Io): Promise<Viewed> {
  const path = resolve(cwd, given);
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  if (isFile && basename(path) !== "tape.jsonl") return viewOfLog(path);
  const run = isFile ? undefined : logMeant(given, cwd, io.env);
  if (run !== undefined) return viewOfLog(run);
  const fixture = findFixture(isFile ? dirname(path) : given, cwd);
  if (hasState(fixture.tape)) return await viewOfFixture(fixture);
  const what = /[/\\]|\.jsonl$/.test(given) ? "file" : "run, fixture or log";
  throw new UsageError(`Cannot view '${given}' as there is no such ${what}: ${viewHint(given, cwd, io)}`);
}

/** What was written last: the log of a run, the tape of a fixture, the folder of an eval. */
function newest(cwd: string, io: Io, evals: readonly string[]): string {
  const tapes = fixturesIn(join(cwd, FIXTURES)).map(({ tape }) => tape);
  const [path] = newestFirst([...logsOf(cwd, io.env), ...tapes, ...evals]);
  if (path !== undefined) return evals.includes(path) ? dirname(path) : path;
  throw new UsageError(`Cannot view a run as there is no run here yet: 'crochet run "<prompt>"' makes one`);
}

function viewHint(given: string, cwd: string, io: Io): string {
  const names = [...logsOf(cwd, io.env).map(runId), ...fixturesIn(join(cwd, FIXTURES)).map(({ name }) => name)];
  return names.length === 0
    ? "there is no run here yet, 'crochet run' makes one"
    : `did you mean '${nearest(given, names)}'?`;
}

function viewOfLog(path: string): Viewed {
  const run = readLoggedRun(path);
  return { name: runId(path), view: viewOf(run, `run ${run.id}`) };
}
