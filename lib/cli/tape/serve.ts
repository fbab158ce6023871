import { once } from "node:events";
import { reportLines } from "../../replay/drift/drift-report.ts";
import { placesHere } from "../../replay/redact/places.ts";
import { listen } from "../../replay/server/listen.ts";
import { Replayer } from "../../replay/server/answer-requests.ts";
import { recordedTape } from "../../replay/server/run-command.ts";
import { command, numberFlag, PORT, type Usage } from "../_flags.ts";
import { EXIT, UsageError } from "../_io.ts";
import { fixtureAsked } from "./_asked.ts";
import { rulesAsked } from "./replay.ts";

const USAGE: Usage = {
  name: "tape serve",
  words: "<name>",
  about:
    "Serves a tape on this machine to programs that are started elsewhere, such as CI services or tests in other languages. " +
    "Prints 'ready <url>' when it listens; providers are below that url: /anthropic, /openai/v1 and /gemini. When it is ended by " +
    "Ctrl-C or SIGTERM it prints the report; exit code 1 on drift.",
  flags: [
    ["--port <n>", "the port to listen on; default: any free port"],
    ["--token <word>", "the first part of the path in the address; default: one that cannot be guessed"],
    ["--tools <how>", "'loose': results of tools may differ; they are still reported"],
    ["--without <rules>", "switch off these rules: names separated by commas"],
    ["--json", "print the report as JSON"],
  ],
  example: "crochet tape serve typo --port 8787",
  passes: true,
};

export default command(USAGE, async ({ words, flags }, io) => {
  const fixture = fixtureAsked(words, io, USAGE.example);
  const replayer = new Replayer(await recordedTape(fixture), {
    ...rulesAsked(flags),
    ...{ name: fixture.name, places: placesHere(io.cwd), elsewhere: true },
  });
  const { token } = flags;
  if (token !== undefined && !/^[\w-]+$/.test(String(token))) {
    throw new UsageError(`Cannot serve below '${token}': give --token letters, digits, '-' and '_'`);
  }
  const server = await listen(replayer.answer, {
    port: numberFlag(flags, "port", PORT) ?? 0,
    ...(token !== undefined && { token: String(token) }),
  });
  io.out(`ready ${server.url}\n`);
  if (!io.signal.aborted) await once(io.signal, "abort");
  await server.close();
  const report = await replayer.report(`crochet tape record --fixture ${fixture.name} -- <command>`);
  if (flags.json) io.data(report);
  else io.err([`${report.ok ? "✓" : "✗"} ${fixture.name}`, ...reportLines(report), ""].join("\n  ").trimEnd() + "\n");
  return report.ok ? EXIT.ok : EXIT.failed;
});
