import { reportLines, withoutStale } from "../../replay/drift/drift-report.ts";
import { replayCommand } from "../../replay/server/run-command.ts";
import { RULES } from "../../replay/server/compare-rules.ts";
import { TapeError } from "../../replay/read-tape.ts";
import { expectTrusted } from "../_fixtures.ts";
import { command, inLines, numberFlag, refuseTogether, type Usage } from "../_flags.ts";
import { EXIT, UsageError } from "../_io.ts";
import { coloursFor } from "../show/text.ts";
import { commandAsked, fixtureAsked, mcpAsked, started } from "./_asked.ts";
import { commandSearch } from "./recorded.ts";

const USAGE: Usage = {
  name: "tape replay",
  words: "<name> -- <command…>",
  about:
    "Runs a command on a tape that 'crochet tape record' made, in a copy of this directory as it is now and without the " +
    "network; what the recorded run changed is as it was before, and what it made is not there. A request that is not on the tape gets an API error that names the first difference. Exit code 0: all as " +
    "recorded; 1: drift, or calls left; 3: the same calls, another exit code; 124: timeout.",
  flags: [
    ["--tools <how>", "'loose': results of tools may differ; they are still reported"],
    ["--without <rules>", "switch off these rules: names separated by commas"],
    ["--mcp <how>", "'live': MCP servers run for real, though they are on the tape"],
    ["--no-stale", "fail if a reply is stale"],
    ["--here", "work in this directory itself"],
    ["--faults [n]", "search n fault schedules (100) for one that the command does not survive; or a preset"],
    ["--seed <n>", "with --faults: repeat the same search"],
    ["--trust", "trust the fixture for this call: the command runs among its files, and its invariants.ts is run"],
    ["--timeout <seconds>", "end the command after this time"],
    ["--junit <file>", "write a JUnit report"],
    ["--json", "print the report as JSON"],
  ],
  example: `crochet tape replay typo -- claude -p "fix the typo in notes.md"`,
  more: () => {
    const rules = Object.entries(RULES).map(([name, { about, client }]) =>
      `  ${name.padEnd(18)}${inLines(client === undefined ? about : `${about} (${client})`, 20)}\n`
    );
    return Promise.resolve(`\nWhat is not compared, by rule\n${rules.join("")}`);
  },
};

export default command(USAGE, async ({ words, flags, args }, io) => {
  const asked = commandAsked(args, words, USAGE.example);
  const fixture = fixtureAsked(asked.words, io, USAGE.example);
  expectTrusted([fixture], flags, io);
  const { faultsAsked, noPreset, replayFaults } = await import("../_replay-faults.ts");
  const search = await commandSearch(fixture, io, { cwd: io.cwd, command: asked.command });
  if (flags.faults) {
    const { asked: wanted, word } = faultsAsked(flags.faults);
    if (word !== undefined) throw noPreset(word, io);
    refuseTogether(flags, "faults", ["here"], "a search works in copies of the directory");
    refuseTogether(flags, "faults", ["mcp"], "a search starts no recorded server");
    refuseTogether(flags, "faults", ["noStale"], "a search changes the replies");
    return await replayFaults([fixture], wanted, flags, io, search);
  }
  const began = performance.now();
  const replayed = await started(asked.command, () =>
    replayCommand(fixture, {
      ...{ command: asked.command, cwd: io.cwd, env: io.env, signal: io.signal },
      ...rulesAsked(flags),
      here: flags.here === true,
      mcp: mcpAsked(flags),
      timeout: numberFlag(flags, "timeout"),
    })).then((done) => {
      const report = flags.noStale ? withoutStale(done.report) : done.report;
      return { report, code: report.ok ? done.code : done.code || EXIT.failed };
    }).catch((error) => {
      if (!(error instanceof TapeError)) throw error;
      return error;
    });
  const seconds = (performance.now() - began) / 1000;
  const ink = coloursFor(io.tty, io.env);
  const came = replayed instanceof TapeError ? { error: replayed.message } : { report: replayed.report };
  if (flags.junit !== undefined) {
    const { writeJunit } = await import("../_replay-table.ts");
    writeJunit([{ name: fixture.name, seconds, ...came }], flags.junit, io);
  }
  if (flags.json) io.data(came.report ?? came);
  if (replayed instanceof TapeError) {
    io.err(`${ink.red("✗")} ${ink.bold(fixture.name)}\n  ${replayed.message}\n`);
    return EXIT.failed;
  }
  const { report, code } = replayed;
  const { served, recorded } = report.calls;
  const mark = report.ok ? ink.green("✓") : ink.red("✗");
  const lines = reportLines(report, ink).map((line) => `  ${line}\n`).join("");
  const stale = report.stale === undefined ? "" : `, ${report.stale} stale`;
  const mcp = Object.entries(report.mcp?.served ?? {}).map(([server, count]) => `, ${count} of ${server}`).join("");
  io.err(`${mark} ${ink.bold(fixture.name)} ${served}/${recorded} calls${mcp}${stale}\n${lines}`);
  const broke = report.ok ? await search.brokenAgain() : undefined;
  if (broke === undefined) return code;
  io.err(`  ${broke}\n`);
  return EXIT.failed;
});

/** How requests are compared. */
export function rulesAsked(flags: { readonly [name: string]: string | boolean | undefined }) {
  if (flags.tools !== undefined && flags.tools !== "loose") {
    throw new UsageError(`Cannot compare results of tools '${flags.tools}': write --tools loose`);
  }
  const without = flags.without === undefined ? [] : String(flags.without).split(",");
  const unknown = without.find((name) => !Object.hasOwn(RULES, name));
  if (unknown !== undefined) {
    throw new UsageError(`Cannot switch off '${unknown}' as there is no such rule: ${Object.keys(RULES).join(", ")}`);
  }
  return { loose: flags.tools === "loose", without };
}
