/** One noun for one thing: `docs/reference.md` has the eight, and what they replaced is in no help, no message and on no page. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { filesUnder, ROOT } from "./_files.ts";

/** To record is a verb: `recording` is a noun behind an article. */
const GONE =
  /\b(?:rollout|cassette|lane|transcript|checkpoint|session)s?\b|\brecordings\b|\b(?:an?|the|this|each|every|no|one) (?:\w+ )?recording\b/i;
/** What others have, by their words, the sentence by which README says that logs replay, and what `open()` gives. */
const THEIRS =
  /\bsessions? of (?:an? |the )?(?:hosts?|claude|codex|qwen)\b|\brecordings? of (?:an)?other tools?\b|\bevery run is a recording\b|\bprompt (?:a )?session\b/gi;
/** What is for those who work on crochet, or quotes the founding documents. */
const OURS = ["architecture.md", "requirements.md"];

const saysGone = (text: string) => GONE.test(text.replaceAll(THEIRS, ""));

test("what was replaced is noticed, and neither the words of others nor the verb", () => {
  const gone = ["the Sessions", "two recordings", "a recording", "the same recording", "a lane", "its checkpoint"];
  assert.deepEqual(gone.filter((text) => !saysGone(text)), []);
  const said = ["a session of Claude Code, or a recording of another tool", "recording them again costs money"];
  assert.deepEqual(said.filter(saysGone), []);
});

test("no page for users says session, recording, rollout, cassette, lane, transcript or checkpoint outside of code", () => {
  const pages = readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md") && !OURS.includes(name));
  assert.ok(pages.length > 10);
  const said = ["README.md", "hooks/README.md", ...pages.map((name) => `docs/${name}`)].flatMap((page) => {
    const prose = readFileSync(join(ROOT, page), "utf8").replaceAll(/```[^]*?```|`[^`\n]*`|\]\([^)]*\)/g, "");
    return prose.split("\n").filter(saysGone).map((line) => `${page}: ${line}`);
  });
  assert.deepEqual(said, []);
});

/** What a person types is called as it likes: a folder, a file, a word in brackets, a flag. */
const TYPED = /\w+\/[\w.]+|<[^>\n]*>|--[\w-]+|\["[\w-]+"|\$\{[^{}]*\}/g;

test("no help of a command, and no message of one, says any of them", () => {
  const sources = ["lib/cli", "lib/extensions", "lib/agent", "lib/replay"].flatMap((room) =>
    filesUnder(join(ROOT, room), ".ts")
  ).map((path) => ({
    path,
    source: readFileSync(path, "utf8"),
  }));
  const found = (pattern: RegExp) =>
    sources.flatMap(({ path, source }) => [...source.matchAll(pattern)].map(([text]) => ({ path, text })));
  const helps = found(/: Usage(?:\["flags"\])? = [{[][^]*?\n[}\]];/g);
  assert.ok(helps.length > 30, String(helps.length));
  const messages = found(/(?:Error|io\.(?:err|out)|warn|refuse|say)\(\s*(?:"[^"\n]*"|`[^`]*`)/g);
  assert.ok(messages.length > 300, String(messages.length));
  const said = [...helps, ...messages].flatMap(({ path, text }) =>
    text.replaceAll(TYPED, "").split("\n").filter(saysGone).map((line) => `${path}: ${line}`)
  );
  assert.deepEqual(said, []);
});
