import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { isAlive, until } from "../../_until.ts";
import { bash, BYPASS, chat, pty, sent, TREE } from "./_chat.ts";

test(
  "chat: many pasted lines are one prompt; the arrow up brings prompts back, also in the next chat",
  pty,
  async () => {
    await chat([], async ({ terminal, server, again }) => {
      terminal.send("\u001b[200~first line\r\n\tsecond\nthird \u001b[31mred\u001b[201~");
      await terminal.until(/› first line\n {2}→second\n {2}third/);
      terminal.send("!\r");
      await terminal.until(/I heard you\./);
      assert.match(sent(server, 0), /"first line\\n\\tsecond\\nthird \[31mred!"/);
      terminal.send("zwöi 漢字\u001b[D\u001b[D\u007f\r");
      await terminal.until(/› zwöi漢字\n\nI heard you\./);
      assert.match(sent(server, 1), /"zwöi漢字"/);
      terminal.send("\u0004");
      await terminal.end();
      const second = await again();
      second.send("a draft\u001b[A");
      await second.until(/› zwöi漢字$/);
      second.send("\u001b[A\u001b[B\u001b[B");
      await second.until(/› a draft$/);
    });
  },
);

test("chat: commands do what /help says; an unknown one names the nearest", pty, async () => {
  const files = { "mine/stop.never.sh": "#!/bin/sh\nexit 0\n" };
  await chat([{ text: "Yes." }], async ({ terminal, again }) => {
    terminal.send("/hlep\r");
    await terminal.until(/Unknown command \/hlep: did you mean \/help\?/);
    terminal.send("/help\r");
    await terminal.until(/\/hooks [^]*\/model [^]*\/cost [^]*\/resume [^]*\/compact [^]*\/permissions [^]*\/quit /);
    terminal.send("/hooks\r");
    await terminal.until(/stop\.never\.sh +stop +command +on/);
    terminal.send("/cost\r");
    await terminal.until(/Nothing so far/);
    terminal.send("/model claude-other\r");
    await terminal.until(/model \S+ → claude-other/);
    await terminal.until(/'claude-other' is not a model known here: did you mean claude-\S+\?/);
    terminal.send("/usr/bin/env is what?\r");
    await terminal.until(/Yes\./);
    terminal.send("/cost\r");
    await terminal.until(/claude-other +1 +10 +0 +5/);
    terminal.send("/compact\r");
    await terminal.until(/nothing to make smaller yet/);
    terminal.send("/resume nobody\r");
    await terminal.until(/Cannot resume 'nobody' as there is no such run/);
    terminal.send("/quit\r");
    assert.equal(await terminal.end(), 0);

    const second = await again();
    second.send("/resume\r");
    await second.until(/Which run\?\n› 1 \/usr\/bin\/env is what\?\n/);
    second.send("\r");
    const shown = await second.until(/run [\w-]+, 2 messages\nits last message: Yes\./);
    second.send("more\r");
    await second.until(/I heard you\./);

    second.send("/quit\r");
    await second.end();

    const third = await again();
    third.send(`/resume ${/run ([\w-]{8})[\w-]*, 2 messages/.exec(shown)![1]}\r`);
    await third.until(/run [\w-]+, 4 messages\nits last message: I heard you\./);
  }, { args: ["--hooks", "mine"], files });
});

test("chat: forty columns are enough, and without colour nothing is coloured", pty, async () => {
  const words = "A sentence that is longer than the terminal is wide is parted between its words.";
  const replies = [bash("echo a rather long command that does not fit; echo done", words), { text: "Ende." }];
  await chat(replies, async ({ terminal }) => {
    terminal.send("a prompt that is longer than forty columns are, by some\r");
    const screen = await terminal.until(/Ende\./);
    assert.match(screen, /\nA sentence that is longer than the\nterminal is wide is parted between its\nwords\.\n/);
    const call = screen.split("\n").filter((row) => row.includes("✓ Bash"));
    assert.match(call.join("\n"), /^✓ Bash echo a .*….* · [\d.]+ m?s$/);
    // deno-lint-ignore no-control-regex
    assert.doesNotMatch(terminal.raw, /\u001b\[[\d;]*m/);
  }, { args: BYPASS, columns: 40, env: { NO_COLOR: "1" } });
});

test(
  "chat: what is typed while the agent works waits for the next turn; an interrupt gives it back to be edited",
  pty,
  async () => {
    await chat(
      [bash("sleep 2"), { text: "First." }, { text: "Second." }, bash(TREE)],
      async ({ terminal, server, cwd }) => {
        terminal.send("one\r");
        await terminal.until(/▸ Bash sleep 2/);
        terminal.send("two\r");
        await terminal.until(/next: two/);
        await terminal.until(/First\.[^]*› two[^]*Second\./);
        assert.match(sent(server, 2), /"two"/);
        terminal.send("three\r");
        await until("the command should begin", () => isAlive(join(cwd, "fore.pid")));
        terminal.send("four\rfi");
        await terminal.until(/next: four[^]*› fi/);
        terminal.send("\u001b");
        await terminal.until(/interrupted[^]*› four\n {2}fi$/);
        assert.equal(server.requests.length, 4);
      },
      { args: BYPASS },
    );
  },
);
