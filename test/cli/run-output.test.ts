import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agent, type RunEvent } from "crochet";
import { scripted, type ScriptedReply, scriptedServer } from "crochet/testing";
import { Agent, Glob } from "crochet/tools";
import { coloursFor } from "../../lib/cli/show/text.ts";
import { terminalView } from "../../lib/extensions/view/terminal/terminal-view.ts";
import { place } from "../_place.ts";
import { EVIL, pty, run } from "./_terminal-run.ts";

test(
  "run on a terminal: text, a line for each call with its outcome and time, diffs, hooks, what it took; nothing else stays",
  pty,
  async () => {
    const stop =
      "#!/bin/sh\n[ -e sent ] && exit 0\ntouch sent\necho counting tests >&2\necho 2 tests fail >&2\nexit 2\n";
    const { screen, raw, code } = await run([
      { text: "I look\nfirst.", tools: [{ name: "Read", input: { file_path: "a.txt" } }] },
      { tools: [{ name: "Edit", input: { file_path: "a.txt", old_string: "b\n", new_string: "B\n" } }] },
      { tools: [{ name: "Bash", input: { command: "echo one; echo two; exit 3" } }], delay: 300 },
      { text: "Done, I think." },
      { text: "Now it is." },
    ], {
      args: ["--permission-mode", "bypass", "--hooks", "mine"],
      files: { "a.txt": "a\nb\nc\n", "mine/stop.tests-pass.sh": stop },
    });
    assert.equal(code, 0, screen);
    assert.equal(
      screen.replace(/\d+(\.\d+)? m?s\b/g, "T"),
      [
        "I look",
        "first.",
        "",
        "✓ Read a.txt  4 lines · T",
        "✓ Edit a.txt  +1 −1 · T",
        "    1   a",
        "    2 - b",
        "    2 + B",
        "    3   c",
        "✗ Bash echo one; echo two; exit 3  Exit code 3: one · T",
        "",
        "Done, I think.",
        "",
        "◆ Hook(Stop) tests-pass",
        "  counting tests",
        "  2 tests fail",
        "◆ Hook(Stop) tests-pass: sent back: counting tests",
        "",
        "Now it is.",
        "",
        "done · 5 model calls · 75 tokens · $0.0007 · T",
      ].join("\n"),
    );
    assert.ok(raw.includes("\u001b[31m    2 - b\u001b[39m"), raw);
    assert.ok(raw.includes("\u001b[32m    2 + B\u001b[39m"), raw);
    assert.match(raw, /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏].{0,20} s · \d+ tokens/);
    assert.ok(raw.lastIndexOf("\u001b[?25h") > raw.lastIndexOf("\u001b[?25l"), "the cursor is given back");
  },
);

test(
  "run on a terminal asks before a call, in front of the change it would make; Esc there interrupts the run",
  pty,
  async () => {
    const replies = [
      { tools: [{ name: "Write", input: { file_path: "new.txt", content: `one\n${"two ".repeat(30)}END\n` } }] },
      { tools: [{ name: "Bash", input: { command: "rm -rf x\u202e\u001b[2K" } }] },
    ];
    const { screen, code } = await run(replies, {}, async (terminal, cwd) => {
      await terminal.until(/May Write run\?\n {4}new\.txt\n {4}1 \+ one\n {4}2 \+ two [^]*\n +two [^]* END\n/);
      terminal.send("y");
      await terminal.until(/✓ Write new\.txt {2}new, 2 lines/);
      await terminal.until(/May Bash run\?\n {4}rm -rf x\\u202e\\u001b\[2K\n/);
      terminal.send("\u001b");
      await terminal.end();
      assert.equal(readFileSync(join(cwd, "new.txt"), "utf8"), `one\n${"two ".repeat(30)}END\n`);
    });
    assert.equal(code, 130);
    assert.match(screen, /aborted · 2 model calls/);
    assert.doesNotMatch(screen, /May Bash run/);
  },
);

test(
  "run on forty columns parts prose between words and keeps each call on one row, by width and not by length",
  pty,
  async () => {
    const { screen, code } = await run([
      { text: "漢字".repeat(12), tools: [{ name: "Bash", input: { command: `echo ${"漢字".repeat(20)} # long` } }] },
      { text: "- a point that is long enough to be parted twice, which is what it is here for" },
    ], { args: ["--permission-mode", "bypass"], columns: 40 });
    assert.equal(code, 0, screen);
    assert.match(screen, /^(?:漢字){9}漢\n字(?:漢字){2}\n/);
    assert.match(screen, /\n✓ Bash echo [漢字]+… {2}[漢字]+… · [\d.]+ m?s\n/);
    assert.match(
      screen,
      /\n- a point that is long enough to be\n {2}parted twice, which is what it is\n {2}here for\n/,
    );
  },
);

test("run in a pipe prints the last words alone, byte for byte, and no report has an escape sequence, whatever the environment says", async () => {
  await using server = await scriptedServer([{ tools: [{ name: "Glob", input: { pattern: "*" } }] }, { text: EVIL }]);
  using where = place();
  const env = {
    NO_COLOR: undefined,
    CI: "1",
    FORCE_COLOR: "1",
    TERM: "xterm",
    ANTHROPIC_API_KEY: "none",
    ANTHROPIC_BASE_URL: server.url,
  };
  const piped = await where.crochet(["run", "go"], env);
  assert.deepEqual([piped.code, piped.out, piped.err], [0, `${EVIL}\n`, ""]);
  const listed = async (...words: string[]) => (await where.main(["runs", ...words], env)).out;
  assert.match(await listed(), /^[\w-]+ {2}done {2}4 messages {2}\$[\d.]+ {2}\S+\n {2}go\n$/);
  assert.match(await listed("show", "last"), /^› go\n▸ Glob \{"pattern":"\*"\}\n✓ .*\nabcd\n$/);
});

test("a sub-agent's calls stand indented before the call that began it, and its words are not the agent's", async () => {
  const calls: ScriptedReply[] = [{ tools: [{ name: "Glob", input: { pattern: "*.none" } }] }, {
    text: "Nothing found",
  }];
  const model = scripted([
    {
      tools: [{
        name: "Agent",
        input: { description: "Look around", prompt: "SUB", subagent_type: "general-purpose" },
      }],
    },
    { text: "It says there is nothing" },
  ], { routes: [{ when: ({ messages }) => JSON.stringify(messages[0]).includes("SUB"), replies: calls }] });
  let out = "";
  await agent({ model, tools: [Agent, Glob], on: terminalView((text) => out += text, coloursFor(false, {})) }).run(
    "go",
  );
  assert.match(out, /^ {2}✓ Glob \*\.none {2}.*\n✓ Agent Look around {2}.*\n\nIt says there is nothing\n$/);
});

test("listeners get the output of command hooks while it is written; the log does not keep it", async () => {
  using where = place({ "hooks/turn-start.slow.sh": "#!/bin/sh\necho one\nsleep 0.2\necho two >&2\n" });
  const events: RunEvent[] = [];
  const { id } = await agent({
    from: `file://${where.cwd}/agent.ts`,
    model: scripted([{ text: "ok" }]),
    hooks: "./hooks",
    on: (event) => events.push(event),
  }).run("go", { cwd: where.cwd, log: where.cwd });
  const told = events.flatMap((e) => e.type === "hook_output" ? [[e.hook, e.event, e.stream, e.text]] : []);
  assert.deepEqual(told, [
    ["turn-start.slow.sh", "turn-start", "stdout", "one\n"],
    ["turn-start.slow.sh", "turn-start", "stderr", "two\n"],
  ]);
  const order = events.map((e) => e.type).filter((type) => type.startsWith("hook_"));
  assert.deepEqual(order, ["hook_start", "hook_output", "hook_output", "hook_end"]);
  assert.doesNotMatch(readFileSync(join(where.cwd, `${id}.jsonl`), "utf8"), /hook_output/);
});
