import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CROCHET } from "../../_crochet.ts";
import { place } from "../../_place.ts";
import { Pty } from "../../_pty.ts";
import { isAlive, until } from "../../_until.ts";
import { bash, BYPASS, chat, pty, sent, TREE } from "./_chat.ts";

test("chat: text is shown as it comes, and Esc ends a model that has fallen silent", pty, async () => {
  await chat([{ text: "The first words are here, the others never come", stall: true }], async ({ terminal }) => {
    terminal.send("hello\r");
    assert.doesNotMatch(await terminal.until(/The first words/), /never come/);
    terminal.send("\u001b");
    await terminal.until(/interrupted · 1 model call · 11 tokens/);
    terminal.send("and now?\r");
    await terminal.until(/I heard you\./);
  });
});

test(
  "chat: Esc, and Ctrl-C, end a command with its whole process tree and keep the session; Ctrl-C twice quits",
  pty,
  async () => {
    await chat(
      [bash(TREE), { text: "Still here." }, bash(TREE), { text: "Again." }],
      async ({ terminal, cwd, server }) => {
        const [back, fore] = [join(cwd, "back.pid"), join(cwd, "fore.pid")];
        for (const [key, words] of [["\u001b", "Still here."], ["\u0003", "Again."]] as const) {
          terminal.send("go\r");
          await until("the command should begin", () => isAlive(back) && isAlive(fore));
          terminal.send(key);
          await until("the whole tree should end", () => !isAlive(back) && !isAlive(fore));
          terminal.send("and then?\r"); // While the turn still ends, or after it: it is the next prompt.
          await terminal.until(new RegExp(words));
        }
        assert.equal(server.requests.length, 4);
        assert.equal(server.requests.at(-1)!.body.messages.length, 7);
        await new Promise((resolve) => setTimeout(resolve, 2100)); // The next Ctrl-C is to be a first one again.
        terminal.send("\u0003");
        await terminal.until(/Ctrl-C again quits/);
        terminal.send("\u0003");
        assert.equal(await terminal.end(), 130);
        assert.match(await terminal.screen(), /crochet chat --resume [\w-]+$/);
      },
      { args: BYPASS },
    );
  },
);

test("S1.14, U11: chat: what is typed while a turn_end command runs goes before the hook's turn", pty, async () => {
  const line = "test -e told && exit; touch told; while test ! -e typed; do sleep 0.05; done; echo more >&2";
  const files = { ".agent/hook.toml": `[turn_end]\ncommand = "/bin/sh"\nargs = ["-c", "${line}"]\n` };
  await chat([{ text: "One." }, { text: "Two." }, { text: "Three." }], async ({ terminal, cwd, server }) => {
    terminal.send("go\r");
    await until("the command runs", () => existsSync(join(cwd, "told")));
    terminal.send("mine\r");
    await terminal.until(/next: mine/);
    writeFileSync(join(cwd, "typed"), "");
    await terminal.until(/Three\./);
    assert.match(sent(server, 1), /mine/);
    assert.match(sent(server, 2), /HookInput \(TurnEnd\): more/);
  }, { args: ["--trust"], files });
});

test(
  "S1.17: chat: a command hook's output is shown as it comes, and Esc ends the hook with its process tree",
  pty,
  async () => {
    const hook = "#!/bin/sh\necho looking into it >&2\nsleep 300 & echo $! > back.pid\necho $$ > fore.pid\nwait\n";
    await chat([{ text: "Ready." }], async ({ terminal, cwd }) => {
      const [back, fore] = [join(cwd, "back.pid"), join(cwd, "fore.pid")];
      terminal.send("go\r");
      await terminal.until(/◆ Hook\(Stop\) slow\n {2}looking into it/);
      await until("the hook should run", () => isAlive(back) && isAlive(fore));
      terminal.send("\u001b");
      await until("the hook's tree should end", () => !isAlive(back) && !isAlive(fore));
      await terminal.until(/interrupted · 1 model call/);
      assert.ok(terminal.raw.includes("\u001b[2m  looking into it\u001b[22m"), terminal.raw);
    }, { args: ["--hooks", "mine"], files: { "mine/stop.slow.sh": hook } });
  },
);

test("chat: without a key it says so at once, before anything is typed", pty, async () => {
  using here = place();
  await using terminal = new Pty([...CROCHET, "chat"], {
    cwd: here.cwd,
    columns: 80,
    env: { HOME: here.home, ANTHROPIC_API_KEY: "", ANTHROPIC_AUTH_TOKEN: "" },
  });
  await terminal.until(/Cannot chat as no API key is set: export ANTHROPIC_API_KEY=…/);
});

test("chat: a terminal that goes away ends the chat and what it runs; the transcript is kept", pty, async () => {
  await chat([bash(TREE, "I begin.")], async ({ terminal, cwd }) => {
    terminal.send("go\r");
    await until("the command should begin", () => isAlive(join(cwd, "fore.pid")));
    await terminal.hangUp();
    await until(
      "the command should end",
      () => !isAlive(join(cwd, "fore.pid")) && !isAlive(join(cwd, "back.pid")),
    );
    const runs = join(cwd, ".crochet/runs");
    const log = readdirSync(runs).find((name) => name.endsWith(".jsonl"))!;
    await until(
      "the end should be kept",
      () => readFileSync(join(runs, log), "utf8").includes('"stop":"aborted"'),
    );
    assert.match(readFileSync(join(runs, log), "utf8"), /I begin\.[^]*interrupted/);
  }, { args: BYPASS });
});

test("chat: without a terminal one line says to use run, and the exit code is 2", () => {
  const [command, ...args] = CROCHET;
  const { status, stderr, stdout } = spawnSync(command!, [...args, "chat"], { encoding: "utf8" });
  assert.deepEqual([status, stdout], [2, ""]);
  assert.match(stderr, /^crochet: Cannot chat as this is not a terminal: use crochet run "what to do"\n$/);
});
