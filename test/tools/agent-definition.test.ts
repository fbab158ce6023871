import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { readDefinition } from "../../lib/tools/agent.ts";
import { scratch } from "../_scratch.ts";

const READ: readonly [what: string, text: string, found: object][] = [
  ["all of it", "---\ndescription: Looks\ntools: Read, Grep\nmodel: tiny\n---\nLook.\n", {
    description: "Looks",
    tools: ["Read", "Grep"],
    model: "tiny",
    system: "Look.",
  }],
  ["tools as a list", "---\ndescription: Looks\ntools: [Read]\n---\n", { description: "Looks", tools: ["Read"] }],
  ["as an editor of Windows writes it", "\uFEFF---\r\ndescription: Looks\r\n---\r\nLook.\r\n", {
    description: "Looks",
    system: "Look.",
  }],
];

for (const [what, text, found] of READ) {
  test(`readDefinition() reads an agent's file: ${what}`, async () => {
    using folder = scratch({ "scout.md": text });
    assert.deepEqual(await readDefinition(join(folder.path, "scout.md")), found);
  });
}

const REFUSED: readonly [what: string, text: string, why: string][] = [
  ["no head", "Look.\n", "it has no front matter: begin it with '---', a line 'description: …' and '---'"],
  ["a head without an end", "---\ndescription: x\n", "its front matter is never closed: end it with a line '---'"],
  ["no description", "---\nmodel: tiny\n---\n", "its front matter has no 'description': say what it is for"],
  [
    "tools of another kind",
    "---\ndescription: x\ntools: 3\n---\n",
    "in its front matter 'tools' must be a text or a list of texts: current value is 3",
  ],
];

for (const [what, text, why] of REFUSED) {
  test(`readDefinition() refuses a file with the fix: ${what}`, async () => {
    using folder = scratch({ "scout.md": text });
    const path = join(folder.path, "scout.md");
    await assert.rejects(readDefinition(path), { message: `Cannot use ${path} as ${why}` });
  });
}
