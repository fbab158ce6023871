import assert from "node:assert/strict";
import { test } from "node:test";
import { scriptedServer } from "crochet/testing";
import { CROCHET } from "../_crochet.ts";
import { place } from "../_place.ts";
import { Pty } from "../_pty.ts";
import { EVIL, pty, run } from "./_terminal-run.ts";

test("a script's main() asks on a terminal too, and its process ends when the run does", pty, async () => {
  const lib = new URL("../../lib/", import.meta.url).href;
  const script = `import { agent } from "${lib}index.ts";\nimport { Bash } from "${lib}tools/index.ts";\n` +
    `await agent({ from: import.meta.url, tools: [Bash] }).main();\n`;
  await using server = await scriptedServer([{ tools: [{ name: "Bash", input: { command: "touch x" } }] }, {
    text: "ok",
  }]);
  using where = place({ "agent.ts": script });
  await using terminal = new Pty([...CROCHET.slice(0, -1), "agent.ts", "go"], {
    cwd: where.cwd,
    env: { HOME: where.home, ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: server.url },
  });
  await terminal.until(/May Bash run\?/);
  terminal.send("y");
  assert.equal(await terminal.end(), 0);
  assert.match(await terminal.screen(), /^✓ Bash touch x .*\n\nok\n\ndone · 2 model calls/);
});

test("run: a reader that leaves does not crash it", pty, async () => {
  const replies = Array.from({ length: 30 }, () => ({ tools: [{ name: "Glob", input: { pattern: "*" } }], delay: 20 }));
  const { screen } = await run([...replies, { text: "end" }], {
    args: ["--output", "stream-json"],
    behind: "| head -n 1 | cut -c 1-30",
  });
  assert.match(screen, /^\{"agent_id":"[\w-]+$/);
});

test("run: NO_COLOR on a terminal is without colour, and a dumb terminal gets lines only", pty, async () => {
  const replies = [{ tools: [{ name: "Glob", input: { pattern: "*" } }] }, { text: `**Bold** ${EVIL}` }];
  const plain = await run(replies, { env: { NO_COLOR: "1" } });
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(plain.raw, /\u001b\[[\d;]*m/);
  assert.match(plain.screen, /✓ Glob \* {2}\d files? · .*\n\n\*\*Bold\*\* abcd\n/);
  const dumb = await run(replies, { env: { TERM: "dumb" } });
  assert.ok(!dumb.raw.includes("\u001b["), JSON.stringify(dumb.raw));
  assert.match(dumb.screen, /✓ Glob/);
});
