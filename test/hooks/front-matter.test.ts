import assert from "node:assert/strict";
import { test } from "node:test";
import { splitFrontMatter } from "../../lib/hooks/front-matter.ts";

const TEXTS: readonly [what: string, text: string, head: string | undefined, body: string, unclosed?: true][] = [
  ["a head and a body", "---\na: 1\n---\nHello\n", "a: 1", "Hello\n"],
  ["the mark of an editor", "\uFEFF---\na: 1\n---\nHello", "a: 1", "Hello"],
  ["line breaks of Windows", "---\r\na: 1\r\n---\r\nHello\r\n", "a: 1", "Hello\r\n"],
  ["blanks behind the lines", "--- \na: 1\n---\t\nHello", "a: 1", "Hello"],
  ["no body", "---\na: 1\n---", "a: 1", ""],
  ["nothing in it", "---\n---\nHello", "", "Hello"],
  ["a rule of the body", "---\na: 1\n---\nHello\n---\nyou", "a: 1", "Hello\n---\nyou"],
  ["dashes in a value", "---\na: b---c\n --- \n---\n", "a: b---c\n --- ", ""],
  ["none", "Hello\n---\na: 1\n---\n", undefined, "Hello\n---\na: 1\n---\n"],
  ["none after a blank line", "\n---\na: 1\n---\n", undefined, "\n---\na: 1\n---\n"],
  ["more dashes", "----\na: 1\n----\n", undefined, "----\na: 1\n----\n"],
  ["nothing", "", undefined, ""],
  ["no end", "---\na: 1\nHello", undefined, "---\na: 1\nHello", true],
];

for (const [what, text, head, body, unclosed = false] of TEXTS) {
  test(`splitFrontMatter() parts a text from what is said about it: ${what}`, () => {
    assert.deepEqual(splitFrontMatter(text), { head, body, unclosed });
  });
}
