import { reportLines } from "../../replay/drift/drift-report.ts";
import { FIXTURES } from "../../replay/fixture.ts";
import { replayCommand } from "../../replay/server/run-command.ts";
import { RULES } from "../../replay/server/compare-rules.ts";
import { expectTrusted } from "../_fixtures.ts";
import { inLines, refuseTogether, type Usage } from "../_flags.ts";
import { UsageError } from "../_io.ts";
import { judgingCommand } from "../_judge.ts";
import { wordsOf } from "../_process.ts";
import { itemOf, NOT_COMPARED, secondsAsked, wordOf } from "../_replay-one.ts";
import type { ReplayedItem } from "../_replay-table.ts";
import { coloursFor } from "../show/text.ts";
import { commandAsked, fixtureAsked, mcpAsked, started } from "./_asked.ts";
import { commandSearch } from "./recorded.ts";

const USAGE: Usage = {
  name: "tape replay",
  words: "<name> -- <command…>",
  about:
    "Runs a command on a tape that 'crochet tape record' made, in a copy of this directory as it is now and without the " +
    "network; what the recorded run changed is as it was before, and what it made is not there. A request that is not on the tape gets an API error that names the first difference. " +
    "Exit code 0 if it holds, 1 if it is broken: drift, calls left, another exit code, or its time is over.",
  flags: [
    ["--tools <how>", "'loose': results of tools may differ; they are still reported"],
    ["--without <rules>", "switch off these rules: names separated by commas"],
    ["--mcp <how>", "'live': MCP servers run for real, though they are on the tape"],
    ["--no-stale", "fail if a reply is stale"],
    ["--here", "work in this directory itself"],
    ["--faults [n]", "search n fault schedules (100) for one that the command does not survive; or a preset"],
    ["--seed <n>", "with --faults: repeat the same search"],
    ["--trust", "trust the fixture for this call: the command runs among its files, and its invariants.ts is run"],
    ["--time <seconds>", "how long the command may take before it is broken (120)"],
  ],
  example: `crochet tape replay typo -- claude -p "fix the typo in notes.md"`,
  more: () => {
    const rules = Object.entries(RULES).map(([name, { about, client }]) =>
      `  ${name.padEnd(18)}${inLines(client === undefined ? about : `${about} (${client})`, 20)}\n`
    );
    return Promise.resolve(`\nWhat is not compared, by rule\n${rules.join("")}`);
  },
};

export default judgingCommand(USAGE, "fixture", async ({ words, flags, args }, io, judge) => {
  const seconds = secondsAsked(flags);
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
    return await replayFaults([fixture], wanted, flags, io, judge, search);
  }
  judge.plan(fixture.name);
  const began = performance.now();
  const { name } = fixture;
  const item = await started(asked.command, () =>
    replayCommand(fixture, {
      ...{ command: asked.command, cwd: io.cwd, env: io.env, signal: io.signal },
      ...rulesAsked(flags),
      here: flags.here === true,
      mcp: mcpAsked(flags),
      timeout: seconds,
    })).then(async ({ report }): Promise<ReplayedItem> => {
      const broke = report.ok ? await search.brokenAgain() : undefined;
      return itemOf(name, report, flags, { broke, notes: [NOT_COMPARED] });
    }).catch((error): ReplayedItem => {
      if (error instanceof UsageError) throw error;
      return { name, word: wordOf(error), why: wordsOf(error) };
    });
  judge.settle({ ...item, of: FIXTURES, seconds: (performance.now() - began) / 1000 });
  const ink = coloursFor(io.tty, io.env);
  const { report } = item.data ?? {};
  const lines = report ? reportLines(report, ink) : [];
  const mark = item.word === "held" ? ink.green("✓") : ink.red("✗");
  const stale = report?.stale === undefined ? "" : `, ${report.stale} stale`;
  const mcp = Object.entries(report?.mcp?.served ?? {}).map(([server, count]) => `, ${count} of ${server}`).join("");
  const calls = report ? ` ${report.calls.served}/${report.calls.recorded} calls${mcp}${stale}` : "";
  const why = report && !report.ok ? [] : item.why?.split("\n") ?? [];
  const more = item.word === "held" ? [NOT_COMPARED] : why;
  io.out(`${mark} ${ink.bold(name)}${calls}\n${[...lines, ...more].map((line) => `  ${line}\n`).join("")}`);
}, { aside: true });

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
