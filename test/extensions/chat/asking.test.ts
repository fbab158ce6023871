import assert from "node:assert/strict";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../../_until.ts";
import { bash, chat, pty, sent } from "./_chat.ts";

test(
  "chat: a call is asked for, and may run once, always by its rule in this project, or not, with the reason",
  pty,
  async () => {
    const make = (file: string) => bash(`touch ${file}`);
    const replies = [make("one"), { text: "1." }, make("two"), { text: "2." }, bash("mkdir three"), { text: "3." }];
    await chat([...replies, bash("touch four"), { text: "4." }, bash("touch five")], async (chat) => {
      const { terminal, cwd, server, home, again } = chat;
      terminal.send("go\r");
      await terminal.until(
        /May Bash run\?\n {4}touch one\n[^]*1 Yes, once[^]*Always in this project: Bash\(touch one \*\)[^]*No/,
      );
      terminal.send("1");
      await terminal.until(/✓ Bash touch one[^]*1\./);
      terminal.send("go\r");
      await terminal.until(/touch two\n/);
      terminal.send("a");
      await terminal.until(/always allowed here: Bash\(touch two \*\)[^]*✓ Bash touch two/);
      await terminal.until(/2\.\n/);
      terminal.send("go\r");
      await terminal.until(/mkdir three\n/);
      terminal.send("n");
      await terminal.until(/Why not\?/);
      terminal.send("no folders, please\r");
      await terminal.until(/⊘ Bash mkdir three[^]*3\./);
      assert.match(sent(server, 5), /The user refused this call and says: no folders, please/);
      assert.deepEqual(["one", "two", "three"].map((name) => existsSync(join(cwd, name))), [true, true, false]);
      assert.ok(readdirSync(join(home, ".crochet")).includes("permissions"));
      assert.ok(!JSON.stringify(readdirSync(cwd, { recursive: true })).includes("permissions"));
      terminal.send("\u0004");
      assert.equal(await terminal.end(), 0);

      const second = await again();
      second.send("/permissions\r");
      await second.until(/mode default\n {2}allow +Bash\(touch two \*\) +always, since you said so \(forget 1\)/);
      second.send("/permissions forget 1\r");
      await second.until(/Forgotten: Bash\(touch two \*\)/);
      second.send("/permissions forget 1\r");
      await second.until(/Cannot forget '1' as it is not remembered/);
    });
  },
);

test(
  "chat: questions of the agent and its plan are put to the person, and the answers go back to it",
  pty,
  async () => {
    const question = (question: string, multiSelect: boolean) => ({
      question,
      header: "H",
      multiSelect,
      options: [{ label: "red", description: "warm" }, { label: "blue", description: "cold" }],
    });
    const questions = [question("Which one?", false), question("Which ones?", true), question("Or what?", false)];
    await chat([
      { tools: [{ name: "AskUserQuestion", input: { questions } }] },
      { tools: [{ name: "ExitPlanMode", input: { plan: "1. Paint it\n2. Dry it" } }] },
      { tools: [{ name: "ExitPlanMode", input: { plan: "1. Ask first" } }] },
      { text: "So be it." },
    ], async ({ terminal, server }) => {
      terminal.send("go\r");
      await terminal.until(/\? Which one\?\n› 1 red\n {4}warm\n {2}2 blue\n {4}cold\n {2}3 Something else…/);
      terminal.send("\u001b[B");
      await terminal.until(/› 2 blue/);
      terminal.send("\r");
      await terminal.until(/○ red/);
      terminal.send("12");
      await terminal.until(/◉ red[^]*◉ blue/);
      terminal.send("\r");
      await terminal.until(/\? Or what\?\n› 1/);
      terminal.send("3");
      await terminal.until(/\? Or what\?\n› *$/);
      terminal.send("grün, bitte\r");
      await terminal.until(/The plan\n│ 1\. Paint it\n│ 2\. Dry it\n[^]*Go ahead with this plan\?/);
      assert.match(
        sent(server, 1),
        /"Which one\?\\"=\\"blue\\", \\"Which ones\?\\"=\\"red, blue\\", \\"Or what\?\\"=\\"grün, bitte/,
      );
      terminal.send("2");
      await terminal.until(/What should be different\?/);
      terminal.send("ask first\r");
      await terminal.until(/│ 1\. Ask first\n[^]*Go ahead/);
      assert.match(sent(server, 2), /does not agree to the plan\. The user says: ask first/);
      terminal.send("y");
      await terminal.until(/So be it\./);
      assert.match(sent(server, 3), /The user agrees to the plan/);
    });
  },
);

test("chat: a question never takes the keys of somebody who is typing for an answer", pty, async () => {
  await chat([{ ...bash("touch made"), delay: 500 }], async ({ terminal, cwd }) => {
    terminal.send("go\r");
    for (let asked = false, n = 0; n < 15; n += Number(asked)) {
      terminal.send("y1\r");
      assert.ok(!existsSync(join(cwd, "made")));
      await new Promise((resolve) => setTimeout(resolve, 40));
      asked ||= (await terminal.screen()).includes("May Bash run?");
    }
    await new Promise((resolve) => setTimeout(resolve, 1200));
    assert.match(await terminal.screen(), /May Bash run\?/);
    assert.ok(!existsSync(join(cwd, "made")));
    terminal.send("y");
    await until("a pause makes the next key an answer", () => existsSync(join(cwd, "made")));
  });
});

test("chat: an edit that is asked for is shown with the numbers of its lines in the file", pty, async () => {
  const edit = { file_path: "notes.txt", old_string: "line 7\n", new_string: "line seven\n" };
  await chat([{ tools: [{ name: "Edit", input: edit }] }], async ({ terminal, cwd }) => {
    writeFileSync(join(cwd, "notes.txt"), Array.from({ length: 12 }, (_, i) => `line ${i + 1}\n`).join(""));
    terminal.send("go\r");
    await terminal.until(
      /May Edit run\?\n {4}notes\.txt\n +5 {3}line 5\n +6 {3}line 6\n +7 - line 7\n +7 \+ line seven\n/,
    );
  });
});
