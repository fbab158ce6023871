import { relative } from "node:path";
import { priceOf, priceText, reportLines } from "../../replay/drift/drift-report.ts";
import { fixtureAt } from "../../replay/fixture.ts";
import { asksModel } from "../../replay/requests/api.ts";
import { worksHere } from "../../replay/working-copy.ts";
import { numberFlag } from "../../cli/kit/flags.ts";
import { EXIT, UsageError } from "../../cli/kit/io.ts";
import { folderOf, trustRecorded } from "../../cli/kit/known-fixtures.ts";
import { wordsOf } from "../../files/drafts.ts";
import { PROOF, type RecordAsked, runsAgain } from "../../cli/kit/programs.ts";
import type { Reporter } from "../../cli/kit/report.ts";
import { proveRecording, unprovable } from "./prove-recording.ts";
import { CUT, recordCommand } from "./run-command.ts";
import { started } from "./started.ts";

/** `crochet record -- COMMAND`. */
export async function recordProgram({ folder, command, flags, normalise }: RecordAsked, io: Reporter): Promise<number> {
  const { mcp, redact, loose, once } = flags;
  if (mcp !== undefined && mcp !== "live") {
    throw new UsageError(`Cannot use MCP servers '${mcp}': write --mcp live, or leave it out`);
  }
  const keepsNone = flags.files === "none";
  const isWhole = flags.files !== undefined && !keepsNone;
  const files = isWhole ? folderOf([String(flags.files)], io, "work in") : undefined;
  const { cwd, env, signal } = io;
  const made = await started(command, () =>
    recordCommand(fixtureAt(folder), {
      ...{ command, files, normalise, mcp, cwd, env, signal },
      ...(keepsNone && { keeps: "nothing" }),
      ...{ redact: redact === true, loose: loose === true, proves: !once },
      note: (line) => io.err(`${line}\n`),
      timeout: numberFlag(flags, "timeout"),
      onLeftOut: (path, why) => io.err(`${path} is not kept with the fixture: ${why}\n`),
    }));
  const { tape, end: { end } } = made;
  await trustRecorded(folder, io);
  let proof = "open" as keyof typeof PROOF;
  let lines: readonly string[] = [];
  if (!once && unprovable(made.end) !== undefined) await made.settle({});
  else if (!once) {
    io.err(`${runsAgain(worksHere(tape.header) ? "" : " outside this directory")}\n`);
    await proveRecording(fixtureAt(folder), made, { cwd, env, signal }).then((report) => {
      proof = report.ok ? "held" : "broken";
      lines = report.ok ? report.notes.filter((note) => note.startsWith("not compared, ")) : reportLines(report);
    }, (error) => [proof, lines] = ["broken", wordsOf(error).split("\n")]);
    if (signal.aborted) proof = "open";
  }
  const fixture = relative(cwd, folder);
  const calls = tape.calls.filter(({ sent }) => asksModel(sent!));
  if (flags.json) io.data({ fixture, end, calls: calls.length, proof });
  else io.err(`recorded ${fixture}: ${end}, ${priceText(priceOf(calls))}, ${PROOF[proof]}\n`);
  if (!flags.json || proof === "broken") io.err(lines.map((line) => `  ${line}\n`).join(""));
  if (signal.aborted) return EXIT.interrupted;
  if (CUT.test(end)) io.err(`the command was ended by ${end}: the tape ends there, and so will a replay\n`);
  return CUT.test(end) || proof === "broken" ? EXIT.failed : EXIT.ok;
}
