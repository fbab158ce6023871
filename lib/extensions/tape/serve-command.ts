import { once } from "node:events";
import { existsSync } from "node:fs";
import { reportLines } from "../../replay/drift/drift-report.ts";
import { placesHere } from "../../log/redact/places.ts";
import { listen } from "../../replay/requests/listen.ts";
import { Replayer } from "./answer-requests.ts";
import { recordedTape } from "./run-command.ts";
import { command, numberFlag, PORT, type Usage } from "../../cli/kit/flags.ts";
import { EXIT, UsageError } from "../../cli/kit/io.ts";
import { noFixture } from "../../cli/kit/known-fixtures.ts";
import { findFixture } from "../../replay/fixture.ts";

const USAGE: Usage = {
  name: "fixtures serve",
  words: "<name>",
  about:
    "Serves a tape on this machine to programs that are started elsewhere, such as CI services or tests in other languages. " +
    "Prints 'ready <url>' when it listens; providers are below that url: /anthropic, /openai/v1 and /gemini. When it is ended by " +
    "Ctrl-C or SIGTERM it prints the report; exit code 1 on drift.",
  flags: [
    ["--port <n>", "the port to listen on; default: any free port"],
    ["--token <word>", "the first part of the path in the address; default: one that cannot be guessed"],
    ["--json", "print the report as JSON"],
  ],
  example: "crochet fixtures serve typo --port 8787",
  passes: true,
};

export default command(USAGE, async ({ words, flags }, io) => {
  const [name = ""] = words;
  const fixture = findFixture(name, io.cwd);
  if (!existsSync(fixture.tape)) {
    throw noFixture("serve", name, io.cwd, `crochet record --fixture ${name} -- <command>`);
  }
  const replayer = new Replayer(await recordedTape(fixture), {
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
  const report = await replayer.report(`crochet record --fixture ${fixture.name} -- <command>`);
  if (flags.json) io.data(report);
  else io.err([`${report.ok ? "✓" : "✗"} ${fixture.name}`, ...reportLines(report), ""].join("\n  ").trimEnd() + "\n");
  return report.ok ? EXIT.ok : EXIT.failed;
});
