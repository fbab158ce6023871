import { command, type Usage } from "./_flags.ts";
import { EXIT } from "./_io.ts";
import type { Check } from "./doctor/_check.ts";
import { projectOf } from "./_project.ts";
import { coloursFor } from "./show/colours.ts";
import { plainText } from "./show/text.ts";

const USAGE: Usage = {
  name: "doctor",
  words: "",
  about:
    "Looks at this machine, this project and the settings of other hosts, and reports what is broken and how to fix it.",
  flags: [
    ["--cwd <dir>", "the project"],
    ["--replay", "replay the fixtures even if the project is not trusted: this runs its code"],
    ["--json", "print data"],
  ],
  example: "crochet doctor",
};

/** Exit code 1 if something is broken; something that is only missing is a warning. */
export default command(USAGE, async ({ flags }, io) => {
  const cwd = projectOf(flags, io);
  const { machineChecks } = await import("./doctor/_machine.ts");
  const { projectChecks } = await import("./doctor/_project.ts");
  const { hostChecks } = await import("./doctor/_hosts.ts");
  const checks = [
    ...await machineChecks(cwd, io.env),
    ...await projectChecks(cwd, io, flags.replay === true),
    ...await hostChecks(cwd, io.env),
  ];
  const bad = checks.filter(({ state }) => state === "broken").length;
  if (flags.json) io.out(`${JSON.stringify({ ok: bad === 0, checks })}\n`);
  else io.out(`${shown(checks, coloursFor(io.tty, io.env))}`);
  return io.signal.aborted ? EXIT.interrupted : bad > 0 ? EXIT.failed : EXIT.ok;
});

function shown(checks: readonly Check[], { green, yellow, red, dim }: ReturnType<typeof coloursFor>): string {
  const marks = { ok: green("✓"), warning: yellow("!"), broken: red("✗") };
  const width = Math.max(...checks.map(({ about }) => about.length)) + 2;
  const lines = checks.flatMap(({ about, state, words, fix }) => [
    `${marks[state]} ${about.padEnd(width)}${plainText(words)}`,
    ...(fix === undefined ? [] : [dim(`  ${"".padEnd(width)}${plainText(fix)}`)]),
  ]);
  const count = (state: Check["state"]) => checks.filter((check) => check.state === state).length;
  return `${lines.join("\n")}\n\n${count("broken")} broken, ${count("warning")} to look at, ${count("ok")} fine\n`;
}
