import { relative } from "node:path";
import { priceOf, priceText } from "../../replay/drift/drift-report.ts";
import { fixtureAt, nameFor } from "../../replay/fixture.ts";
import { CUT, recordCommand } from "../../replay/server/run-command.ts";
import { asksModel } from "../../replay/server/api.ts";
import { folderOf, trustRecorded } from "../_fixtures.ts";
import { command, numberFlag, refuseTogether, type Usage } from "../_flags.ts";
import { EXIT } from "../_io.ts";
import { folderFor, NORMALISE, normaliserAsked } from "../record.ts";
import { commandAsked, mcpAsked, started } from "./_asked.ts";

const USAGE: Usage = {
  name: "tape record",
  words: "-- <command…>",
  about:
    "Runs any agent through a local server that passes its requests on to the real API, and records them as a fixture. " +
    "Claude Code, Codex, Gemini CLI, Qwen Code, opencode, pi and the SDKs find the server by themselves; other programs get its address in " +
    "CROCHET_TAPE_URL, followed by /anthropic, /openai/v1 or /gemini. The fixture keeps what the run changes or removes in " +
    "this directory, as it was before; all else is that of the day it is replayed.",
  flags: [
    ["--fixture <name>", "its name in fixtures/; default: made from the command"],
    ["--files <dir>", "work in a copy of this folder, and keep all of it: for input that must stay as it is"],
    ["--here", "keep nothing of this directory, for one that is too large: a replay needs --here too"],
    ["--redact", "write placeholders for secrets; without it, a run that shows one is not kept"],
    ["--normalise <rule>", NORMALISE],
    ["--mcp <how>", "'live': MCP servers are not recorded, and run for real in a replay too"],
    ["--timeout <seconds>", "end the command after this time"],
    ["--json", "print JSON"],
  ],
  example: `crochet tape record --fixture typo -- claude -p "fix the typo in notes.md"`,
};

export default command(USAGE, async ({ words, flags, args }, io) => {
  const { command } = commandAsked(args, words, USAGE.example);
  const folder = folderFor(String(flags.fixture ?? nameFor(command.join(" "))), io);
  if (flags.here) refuseTogether(flags, "here", ["files"], "a run works in one folder");
  const files = flags.files === undefined ? undefined : folderOf([String(flags.files)], io, { verb: "work in" });
  const { tape, end } = await started(command, () =>
    recordCommand(fixtureAt(folder), {
      ...{ command, files, cwd: io.cwd, env: io.env, signal: io.signal },
      ...(flags.here && { keeps: "nothing" }),
      ...(flags.normalise === undefined ? {} : normaliserAsked(flags.normalise)),
      redact: flags.redact === true,
      mcp: mcpAsked(flags),
      note: (line) => io.err(`${line}\n`),
      timeout: numberFlag(flags, "timeout"),
      onLeftOut: (path, why) => io.err(`${path} is not kept with the fixture: ${why}\n`),
    }));
  await trustRecorded(folder, io);
  const fixture = relative(io.cwd, folder);
  const calls = tape.calls.filter(({ sent }) => asksModel(sent!));
  if (flags.json) io.data({ fixture, end: end.end, calls: calls.length });
  else io.err(`recorded ${fixture}: ${end.end}, ${priceText(priceOf(calls))}\n`);
  if (end.end === "timeout") return 124;
  if (io.signal.aborted) return EXIT.interrupted;
  if (!CUT.test(end.end)) return EXIT.ok;
  io.err(`the command was ended by ${end.end}: the tape ends there, and so will a replay\n`);
  return EXIT.failed;
});
