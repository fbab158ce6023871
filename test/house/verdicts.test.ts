import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { commands } from "../../lib/cli/main.ts";
import type { Group } from "../../lib/cli/kit/group.ts";
import type { Command } from "../../lib/cli/kit/io.ts";
import { filesUnder, LIB } from "./_files.ts";

/** Every command that judges. */
const JUDGES = [
  ...["replay", "eval", "fixtures scan", "attack"],
  ...["hooks test", "hooks check", "hooks backtest"],
];

async function commandOf(words: string): Promise<Command> {
  const [first, second] = words.split(" ") as [string, string?];
  const { default: found } = await (await commands())[first]![1]();
  return second === undefined ? found : (await (await (found as Group).actions())[second]![1]()).default;
}

test("every command that judges does so by the one table of words and codes", async () => {
  for (const words of JUDGES) assert.equal((await commandOf(words)).judges, true, words);
});

test("no file that judges names an exit code: verdictOf() alone gives them", () => {
  const texts = filesUnder(join(LIB, "cli"), ".ts").map((path) => ({ path, text: readFileSync(path, "utf8") }));
  const judging = texts.filter(({ text }) => /from "[^"]*\/(judge|verdict)\.ts"/.test(text));
  assert.ok(judging.length > 1, "no file judges");
  for (const { path, text } of judging) assert.doesNotMatch(text, /\bEXIT\b|process\.exit/, path);
});
