import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { exec, type ProcessOptions, runProcess } from "../../lib/process/process.ts";
import { scratch } from "../_scratch.ts";
import { isRunning, until } from "../_until.ts";

const run = (command: string, given: Partial<ProcessOptions> = {}) =>
  runProcess({ command, cwd: "/tmp", env: process.env, ...given });

async function ends(pid: number): Promise<boolean> {
  await until(`process ${pid} ends`, () => !isRunning(pid));
  return true;
}

test("U13: runProcess() starts a command at the head of a session and group of its own, without a terminal", async () => {
  const { stdout } = await run("ps -o pid=,pgid=,sid=,tty= -p $$");
  const [pid, pgid, sid, tty] = stdout.trim().split(/\s+/);
  assert.equal(pgid, pid);
  assert.equal(sid, pid);
  assert.equal(tty, "?");
});

test("runProcess() gives stdin, then its end", async () => {
  assert.equal((await run("cat; echo end", { input: "héllo\n" })).stdout, "héllo\nend\n");
});

test("runProcess() never fails because a command does not read its stdin", async () => {
  const ran = await run("exec 0<&-; echo no >&2; exit 2", { input: "x".repeat(3_000_000) });
  assert.deepEqual([ran.code, ran.stderr], [2, "no\n"]);
});

test("runProcess() with args starts a program without a shell", async () => {
  assert.equal((await run("printf", { args: ["%s|", "$HOME", "`id`", "a b"] })).stdout, "$HOME|`id`|a b|");
});

test("runProcess() never waits for what a command left in the background", async () => {
  using folder = scratch();
  const ran = await run(`echo out; (sleep 30; echo late) & echo $! > ${folder.path}/pid; exit 3`);
  const pid = Number(readFileSync(join(folder.path, "pid"), "utf8"));
  try {
    assert.deepEqual([ran.code, ran.stdout, isRunning(pid)], [3, "out\n", true]);
  } finally {
    process.kill(pid, "SIGKILL");
  }
});

test("runProcess() reads everything a command wrote, also when another process holds its pipes", async () => {
  const command = "head -c 60000 /dev/zero | tr '\\0' a; head -c 60000 /dev/zero | tr '\\0' b >&2; sleep 2 & exit 0";
  for (let i = 0; i < 3; i++) {
    const running = Array.from({ length: 8 }, () => run(command));
    // Busy until the commands have ended: their ends and their outputs are then there at once.
    await new Promise((resolve) => setTimeout(resolve, 1));
    for (const until = performance.now() + 200; performance.now() < until;);
    for (const { stdout, stderr } of await Promise.all(running)) {
      assert.deepEqual([stdout.length, stderr.length], [60_000, 60_000]);
    }
  }
});

test("runProcess() ends although another process still writes into its pipes", async () => {
  using folder = scratch();
  const writes = "while :; do head -c 65536 /dev/zero; sleep 0.02; done";
  const writer = `echo hi; { ${writes}; } & echo $! > ${folder.path}/pid; exit 4`;
  const ran = await Promise.race([run(writer, { outputDir: () => folder.path }), sleep(180_000)]);
  process.kill(Number(readFileSync(join(folder.path, "pid"), "utf8")), "SIGKILL");
  assert.ok(ran, "it waits for the writer");
  assert.equal(ran.code, 4);
  assert.ok(ran.stdout.startsWith("hi\n"));
});

test("U13: at its time limit a command is asked to end with everything it started", async () => {
  using folder = scratch();
  const ran = await run(`trap 'echo asked; exit 7' TERM; sleep 30 & echo $! > ${folder.path}/pid; wait`, {
    timeout: 300,
  });
  assert.deepEqual([ran.ended, ran.code, ran.stdout], ["timeout", 7, "asked\n"]);
  assert.ok(await ends(Number(readFileSync(join(folder.path, "pid"), "utf8"))));
});

test("U13: a command and a grandchild that ignore being asked are killed", async () => {
  using folder = scratch();
  const stubborn = `trap '' TERM; echo $$ >> ${folder.path}/pids; while :; do sleep 0.1; done`;
  const ran = await run(`sh -c "${stubborn.replaceAll("$", "\\$")}" & ${stubborn}`, { timeout: 300 });
  assert.deepEqual([ran.ended, ran.signal], ["timeout", "SIGKILL"]);
  const pids = readFileSync(join(folder.path, "pids"), "utf8").trim().split("\n").map(Number);
  assert.equal(pids.length, 2);
  for (const pid of pids) assert.ok(await ends(pid), `${pid} lives on`);
});

test("runProcess() ends a command when its signal is aborted, also one that was aborted before", async () => {
  const stop = new AbortController();
  const running = run("sleep 30", { signal: stop.signal });
  stop.abort();
  assert.equal((await running).ended, "aborted");
  assert.equal((await run("sleep 30", { signal: stop.signal })).ended, "aborted");
});

test("runProcess() says by which signal a command was ended", async () => {
  const ran = await run("kill -SEGV $$");
  assert.deepEqual([ran.code, ran.signal, ran.ended], [null, "SIGSEGV", undefined]);
});

test("runProcess() always gives text: bytes that are no UTF-8 become U+FFFD, a byte order mark goes", async () => {
  const ran = await run("printf 'caf\\351 \\377\\376 end'; printf '\\357\\273\\277{}' >&2");
  assert.deepEqual([ran.stdout, ran.stderr], ["caf\uFFFD \uFFFD\uFFFD end", "{}"]);
});

test("runProcess() keeps the head of a huge output, and the whole of it in a file", async () => {
  using folder = scratch();
  const size = 9 * 1024 * 1024;
  const ran = await run(`head -c ${size} /dev/zero | tr '\\0' a; echo`, { outputDir: () => folder.path });
  assert.equal(ran.stdout.length, 8 * 1024 * 1024);
  assert.equal(statSync(ran.stdoutFile!).size, size + 1);
});

test("runProcess() passes on what a command writes while it writes it", async () => {
  using folder = scratch();
  const heard: string[] = [];
  await run(`echo one; while [ ! -e ${folder.path}/go ]; do sleep 0.02; done; echo two >&2`, {
    onOutput: (stream, text) => {
      heard.push(`${stream} ${text}`);
      if (text === "one\n") writeFileSync(join(folder.path, "go"), "");
    },
  });
  assert.deepEqual(heard, ["stdout one\n", "stderr two\n"]);
});

test("runProcess() ends the command and rejects if what it is to read cannot be had", async () => {
  const input = Promise.reject(new Error("nothing to say"));
  await assert.rejects(run("cat; exec sleep 60", { input, alone: true }), /^Error: nothing to say/);
});

test("runProcess() rejects with the command's name if it cannot be started", async () => {
  await assert.rejects(run("no-such-program", { args: [] }), /^Error: Cannot start 'no-such-program' as /);
  await assert.rejects(run("true", { cwd: "/no/such/folder" }), /^Error: Cannot start 'true' as /);
});

test("runProcess() names the interpreter of a script if that is missing", async () => {
  using folder = scratch({ a: "#!/no/such -x\n", b: "#!/bin/sh\r\nexit 0\r\n" });
  for (const [name, wanted] of [["a", '"/no/such"'], ["b", '"/bin/sh\\r"']] as const) {
    const command = `${folder.path}/${name}`;
    chmodSync(command, 0o755);
    await assert.rejects(run(command, { args: [] }), {
      message: `Cannot start '${command}' as its first line names ${wanted}, which is not a program`,
    });
  }
});

test("exec() runs a program for ctx.$ and gives its code and output", async () => {
  const options = { cwd: "/", signal: new AbortController().signal };
  assert.deepEqual(await exec("sh", ["-c", "pwd; echo e >&2; exit 3"], options), {
    code: 3,
    stdout: "/\n",
    stderr: "e\n",
  });
});

test("exec() throws if it was ended, and ends what it ran", async () => {
  using folder = scratch();
  const stop = new AbortController();
  const done = join(folder.path, "done");
  const running = exec("sh", ["-c", `sleep 1; touch ${done}`], { cwd: "/", signal: stop.signal });
  stop.abort();
  await assert.rejects(running, /Cannot finish 'sh' as the hook was ended/);
  await sleep(1300);
  assert.equal(existsSync(done), false);
});
