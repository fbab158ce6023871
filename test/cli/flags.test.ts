import assert from "node:assert/strict";
import { test } from "node:test";
import { readFlags } from "../../lib/cli/kit/flags.ts";
import { UsageError } from "../../lib/cli/kit/io.ts";

const USAGE = {
  name: "try",
  words: "<word>…",
  about: "Tries.",
  flags: [
    ["--json", "print data"],
    ["--max-turns <n>", "how many"],
    ["--faults [n]", "some, or so many"],
    ["--tools ['mcp']", "all, or some"],
  ],
  example: "crochet try",
} as const;

const readings: readonly [args: string[], words: string[], flags: Record<string, string | boolean>][] = [
  [[], [], {}],
  [["a", "b"], ["a", "b"], {}],
  [["a", "--json", "b"], ["a", "b"], { json: true }],
  [["--max-turns", "007", "a"], ["a"], { maxTurns: "007" }],
  [["--max-turns=1e3"], [], { maxTurns: "1e3" }],
  [["--max-turns=-1"], [], { maxTurns: "-1" }],
  [["--max-turns", "1", "--max-turns", "2"], [], { maxTurns: "2" }],
  [["--max-turns=a=b"], [], { maxTurns: "a=b" }],
  [["--faults"], [], { faults: true }],
  [["--faults", "20", "a"], ["a"], { faults: "20" }],
  [["--faults", "--json"], [], { faults: true, json: true }],
  [["a", "--", "--json", "-x"], ["a", "--json", "-x"], {}],
  [["--faults", "--", "20"], ["20"], { faults: true }],
  [["--faults="], [], { faults: "" }],
  [["--max-turns", "-", "--json", "01"], ["01"], { maxTurns: "-", json: true }],
  [["a", "--tools", "mcp", "b"], ["a", "b"], { tools: "mcp" }],
  [["a", "--tools", "b"], ["a", "b"], { tools: true }],
  [["a", "--tools"], ["a"], { tools: true }],
  [["--tools=mpc"], [], { tools: "mpc" }],
  [["--", "--"], ["--"], {}],
  [["-"], ["-"], {}],
  [["-h"], [], { help: true }],
  [["--help", "a"], ["a"], { help: true }],
];

for (const [args, words, flags] of readings) {
  test(`crochet try ${args.join(" ")}: flags and words are read as they were typed`, async () => {
    const read = await readFlags(USAGE, args);
    assert.deepEqual({ words: [...read.words], flags: { ...read.flags } }, { words, flags });
  });
}

const refusals: readonly [args: string[], message: string][] = [
  [["--maxTurns", "3"], "Unknown flag --maxTurns for 'crochet try': did you mean --max-turns?"],
  [["--jsn"], "Unknown flag --jsn for 'crochet try': did you mean --json?"],
  [["-j"], "Unknown flag -j for 'crochet try': did you mean --json?"],
  [["--max-turns"], "Cannot read --max-turns as its value is missing: write --max-turns <n>"],
  [["--max-turns="], "Cannot read --max-turns as its value is missing: write --max-turns <n>"],
  [["--max-turns", "--json"], "Cannot read --max-turns as its value is missing: write --max-turns <n>"],
  [["--max-turns", "--", "3"], "Cannot read --max-turns as its value is missing: write --max-turns <n>"],
  [["--json=no"], "Cannot read --json=no as --json takes no value: write --json"],
  [["--no-json"], "Unknown flag --no-json for 'crochet try': did you mean --json?"],
  [["--constructor"], "Unknown flag --constructor for 'crochet try': did you mean --json?"],
];

for (const [args, message] of refusals) {
  test(`crochet try ${args.join(" ")}: refused, with what to write instead`, async () => {
    await assert.rejects(readFlags(USAGE, args), new UsageError(message));
  });
}
