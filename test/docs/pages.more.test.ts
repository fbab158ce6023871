/**
 * The README and the pages under docs are stories that are lived through: their files are written, their commands are
 * run and show what they are said to show, in their order, in one empty folder, against a scripted model. The reader of
 * the README has something already: test/docs/given.
 */
import assert from "node:assert/strict";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { scriptedServer } from "../../lib/testing/index.ts";
import { playSession, type Reader, reader, ROOT, skip } from "./_reader.ts";

/** `test-your-hooks.md` has a test of its own; `durable.md` needs kills and a server: test/extensions/durable and test/cli. */
const ELSEWHERE = ["docs/test-your-hooks.md", "docs/durable.md"];

interface Block {
  readonly language: string;
  readonly text: string;
  readonly line: number;
}

function blocksOf(page: string): Block[] {
  return [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map((m) => ({
    language: m[1]!,
    text: m[2]!,
    line: page.slice(0, m.index).split("\n").length,
  }));
}

/** The name a block gives its file, in a comment on its first line: `// agent.ts`, `# hooks/stop.sh`. */
function fileOf({ text }: Block): string | undefined {
  const lines = text.split("\n");
  const first = lines[0]!.startsWith("#!") ? lines[1]! : lines[0]!;
  return /^(?:\/\/|#) ([\w@+./-]+\.\w+)$/.exec(first)?.[1];
}

const isCommands = (block: Block) => block.language === "sh" && fileOf(block) === undefined;

const pages = ["README.md", ...readdirSync(join(ROOT, "docs")).map((name) => `docs/${name}`)]
  .filter((path) => path.endsWith(".md") && !ELSEWHERE.includes(path))
  .map((path) => ({ path, blocks: blocksOf(readFileSync(join(ROOT, path), "utf8")) }))
  .filter(({ blocks }) => blocks.some((block) => isCommands(block) || block.language === "console"));

for (const { path, blocks } of pages) {
  test(`what ${path} tells to do works as it stands`, { skip }, async () => {
    using project = reader();
    if (path === "README.md") cpSync(join(ROOT, "test/docs/given"), project.folder, { recursive: true });
    await using server = await scriptedServer([], { then: { text: "Done, and tested." } });
    project.env.ANTHROPIC_BASE_URL = server.url;
    await project.shell("git init -q . && git config user.email a@b && git config user.name a");
    for (const block of blocks) {
      const file = fileOf(block);
      if (file !== undefined) project.write(file, block.text);
      else if (isCommands(block)) await lineByLine(block, project);
      else if (block.language === "console") await playSession(block.text, project);
    }
  });
}

/** Each line is a command; a comment that ends in `exit N` says what it is expected to end with. */
async function lineByLine({ text, line }: Block, project: Reader): Promise<void> {
  for (const [i, command] of text.split("\n").entries()) {
    if (command.trim() === "" || command.startsWith("#") || command.startsWith("export ANTHROPIC_API_KEY")) continue;
    const wanted = Number(/# .*\bexit (\d+)/.exec(command)?.[1] ?? 0);
    const { code, said } = await project.shell(command);
    assert.equal(code, wanted, `line ${line + 1 + i}: ${command}\n${said}`);
  }
}
