import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type ScriptedReply, type ScriptedServer, scriptedServer } from "crochet/testing";
import { CROCHET } from "../_crochet.ts";
import { place } from "../_place.ts";
import { isAlive, NO_PTY, Pty } from "../_pty.ts";

const pty = NO_PTY === undefined ? {} : { skip: NO_PTY };

interface Chat {
  readonly terminal: Pty;
  readonly server: ScriptedServer;
  readonly cwd: string;
  readonly home: string;
  /** Opens another chat in the same place. */
  again(args?: readonly string[]): Promise<Pty>;
}

/** Talks with an agent whose model says these things. */
async function chat(
  replies: Parameters<typeof scriptedServer>[0],
  talk: (chat: Chat) => Promise<void>,
  { args = [], files = {}, columns = 80, env = {} }: {
    args?: readonly string[];
    files?: Readonly<Record<string, string>>;
    columns?: number;
    env?: Readonly<Record<string, string>>;
  } = {},
): Promise<void> {
  await using server = await scriptedServer(replies, { then: { text: "I heard you." } });
  using where = place(files);
  await using opened = new AsyncDisposableStack();
  const again = async (more: readonly string[] = args) => {
    const terminal = opened.use(
      new Pty([...CROCHET, "chat", ...more], {
        cwd: where.cwd,
        columns,
        env: { HOME: where.home, ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: server.url, ...env },
      }),
    );
    await terminal.until(/\/help tells/);
    return terminal;
  };
  await talk({ terminal: await again(), server, cwd: where.cwd, home: where.home, again });
}

const bash = (command: string, text?: string): ScriptedReply => ({
  ...(text !== undefined && { text }),
  tools: [{ name: "Bash", input: { command } }],
});
const TREE = "sleep 300 & echo $! > back.pid; sh -c 'echo $$ > fore.pid; exec sleep 300'";
const BYPASS = ["--permission-mode", "bypass"];

async function eventually(what: string, holds: () => boolean): Promise<void> {
  for (const end = Date.now() + 20_000; !holds();) {
    assert.ok(Date.now() < end, `${what}, but it never did`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

const sent = (server: ScriptedServer, n: number) => JSON.stringify(server.requests.at(n)!.body.messages.at(-1));

test("chat: text is shown as it comes, and Esc ends a model that has fallen silent", pty, async () => {
  await chat([{ text: "The first words are here, the others never come", stall: true }], async ({ terminal }) => {
    terminal.send("hello\r");
    assert.doesNotMatch(await terminal.until(/The first words/), /never come/);
    terminal.send("\u001b");
    await terminal.until(/interrupted · 0 model calls/);
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
          await eventually("the command should begin", () => isAlive(back) && isAlive(fore));
          terminal.send(key);
          await eventually("the whole tree should end", () => !isAlive(back) && !isAlive(fore));
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

test(
  "S1.17: chat: a command hook's output is shown as it comes, and Esc ends the hook with its process tree",
  pty,
  async () => {
    const hook = "#!/bin/sh\necho looking into it >&2\nsleep 300 & echo $! > back.pid\necho $$ > fore.pid\nwait\n";
    await chat([{ text: "Ready." }], async ({ terminal, cwd }) => {
      const [back, fore] = [join(cwd, "back.pid"), join(cwd, "fore.pid")];
      terminal.send("go\r");
      await terminal.until(/◆ Hook\(Stop\) slow\n {2}looking into it/);
      await eventually("the hook should run", () => isAlive(back) && isAlive(fore));
      terminal.send("\u001b");
      await eventually("the hook's tree should end", () => !isAlive(back) && !isAlive(fore));
      await terminal.until(/interrupted · 1 model call/);
      assert.ok(terminal.raw.includes("\u001b[2m  looking into it\u001b[22m"), terminal.raw);
    }, { args: ["--hooks", "mine"], files: { "mine/stop.slow.sh": hook } });
  },
);

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
        await eventually("the command should begin", () => isAlive(join(cwd, "fore.pid")));
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
    await eventually("a pause makes the next key an answer", () => existsSync(join(cwd, "made")));
  });
});

test("chat: commands do what /help says; one that is none is told with the nearest", pty, async () => {
  const files = { "mine/stop.never.sh": "#!/bin/sh\nexit 0\n" };
  await chat([{ text: "Yes." }], async ({ terminal, again }) => {
    terminal.send("\u001a"); // Ctrl-Z, where no shell waits: it goes on
    await new Promise((resolve) => setTimeout(resolve, 600));
    terminal.send("/hlep\r");
    await terminal.until(/Cannot do \/hlep as there is no such command: did you mean \/help\?/);
    terminal.send("/help\r");
    await terminal.until(/\/hooks [^]*\/model [^]*\/cost [^]*\/resume [^]*\/compact [^]*\/permissions [^]*\/quit /);
    terminal.send("/hooks\r");
    await terminal.until(/stop\.never\.sh +stop +command +on/);
    terminal.send("/cost\r");
    await terminal.until(/Nothing so far/);
    terminal.send("/mod\t");
    await terminal.until(/› \/model ?$/);
    terminal.send("claude-other\r");
    await terminal.until(/model \S+ → claude-other/);
    terminal.send("/usr/bin/env is what?\r");
    await terminal.until(/Yes\./);
    terminal.send("/cost\r");
    await terminal.until(/claude-other +1 +10 +0 +5/);
    terminal.send("/compact\r");
    await terminal.until(/nothing to make smaller yet/);
    terminal.send("/resume nobody\r");
    await terminal.until(/Cannot resume 'nobody' as there is no session of that id/);
    terminal.send("/quit\r");
    assert.equal(await terminal.end(), 0);

    const second = await again();
    second.send("/resume\r");
    await second.until(/Which session\?\n› 1 \/usr\/bin\/env is what\?\n/);
    second.send("\r");
    await second.until(/session [\w-]+, 2 messages\nit said last: Yes\./);
    second.send("more\r");
    await second.until(/I heard you\./);
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

test("chat: a terminal that goes away ends the chat and what it runs; the transcript is kept", pty, async () => {
  await chat([bash(TREE, "I begin.")], async ({ terminal, cwd }) => {
    terminal.send("go\r");
    await eventually("the command should begin", () => isAlive(join(cwd, "fore.pid")));
    await terminal.hangUp();
    await eventually(
      "the command should end",
      () => !isAlive(join(cwd, "fore.pid")) && !isAlive(join(cwd, "back.pid")),
    );
    const runs = join(cwd, ".crochet/runs");
    const log = readdirSync(runs).find((name) => !name.includes("rollout") && name.endsWith(".jsonl"))!;
    await eventually(
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
  assert.match(stderr, /^crochet: Cannot chat as this is no terminal: use crochet run "what to do"\n$/);
});
