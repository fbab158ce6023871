/** The first screen of the README: who has hooks, an agent or nothing gets from it to a true result in five commands. */
import assert from "node:assert/strict";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { scriptedServer } from "../../lib/testing/index.ts";
import { reader, ROOT, skip } from "./_reader.ts";

const README = readFileSync(join(ROOT, "README.md"), "utf8");
const SCREEN = README.slice(0, README.indexOf("\n## "));
const typed = [...SCREEN.matchAll(/^\$ (.*)$/gm)].map(([, line]) => line!);

for (
  const [who, word, said] of [
    ["hooks of Claude Code", "hooks check", /endless\.loop at Stop/],
    [
      "an agent in any SDK",
      "record|replay",
      /- You decide about refunds\. Be strict\.\n\s*\+ You decide about refunds\. Be kind\./,
    ],
    ["a folder of hooks", "attack", /✗ removes:src\/\*\* {2}broken[^]*effect +src\/price\.js removed/],
  ] as const
) {
  test(`who has ${who} sees what is wrong with it after what the first screen tells to type`, { skip }, async () => {
    const lines = typed.filter((line) => new RegExp(`\\b(?:${word})\\b`).test(line));
    assert.ok(lines.length >= 1 && lines.length + 1 <= 5, "with the installation");
    using project = reader();
    await using server = await scriptedServer([], { then: { text: "No refund" } });
    project.env.ANTHROPIC_BASE_URL = server.url;
    cpSync(join(ROOT, "test/docs/given"), project.folder, { recursive: true });
    await project.shell("git init -q .");
    let last = { code: 0, said: "" };
    for (const line of lines) last = await project.shell(line);
    assert.match(last.said, said);
    assert.equal(last.code, 1);
  });
}

test("who has nothing gets an agent whose recorded run replays by two commands", { skip }, async () => {
  assert.match(SCREEN, /`crochet init my-agent`/);
  using project = reader();
  assert.equal((await project.shell("crochet init my-agent")).code, 0);
  const { code, said } = await project.shell("cd my-agent && crochet replay");
  assert.deepEqual([code, /held: 1 fixture/.test(said)], [0, true], said);
});

test("the README has at most 160 lines, and tells first what to type", () => {
  assert.ok(README.split("\n").length - 1 <= 160);
  assert.ok(SCREEN.split("\n").length <= 55, "one screen");
  assert.ok(SCREEN.indexOf("npm start") < SCREEN.indexOf("npm test"));
});
