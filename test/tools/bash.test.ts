import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { shellCwd } from "../../lib/tools/tool-state.ts";
import { Bash, bash, type BashResponse, closeShell } from "../../lib/tools/bash.ts";
import { openShell } from "../../lib/tools/shell/shells.ts";
import { scratch } from "../_scratch.ts";
import { testData } from "../_data.ts";
import { bench, eventually, running, sleeper, token } from "./_bash.ts";

const captured = testData("captures/PostToolUse.Bash.json");
const capturedFailure = testData("captures/PostToolUseFailure.Bash.json");

test(
  "Bash answers `echo hi` with exactly the object that was captured",
  () =>
    bench(async ({ bash }) => {
      const { stdin } = JSON.parse(readFileSync(captured, "utf8"));
      const response = await bash(stdin.tool_input.command, { description: stdin.tool_input.description });
      assert.deepEqual(response, stdin.tool_response);
      assert.deepEqual(Object.keys(response), Object.keys(stdin.tool_response));
    }),
);

test(
  "Bash fails with exactly the text that was captured",
  () =>
    bench(async ({ fails }) => {
      const { stdin } = JSON.parse(readFileSync(capturedFailure, "utf8"));
      assert.equal((await fails(stdin.tool_input.command)).message, stdin.error);
    }),
);

test("Bash fails with the exit code, stdout and stderr, and gives hooks the response", () =>
  bench(async ({ fails, bash }) => {
    const error = await fails("echo out; echo err >&2; (exit 3)");
    assert.equal(error.message, "Exit code 3\nout\nerr");
    const { stdout, stderr, interrupted } = error.response as BashResponse;
    assert.deepEqual([stdout, stderr, interrupted], ["out", "err", false]);
    assert.equal((await fails("false")).message, "Exit code 1");
    assert.equal((await bash("echo still here")).notice, undefined);
  }));

test("Bash keeps the folder, variables, functions and jobs between calls", () =>
  bench(async ({ bash, cwd, state }) => {
    assert.equal(shellCwd(state), undefined);
    await bash(
      "mkdir -p sub && cd sub; export A=1; b=2; f() { echo f:$1; }; declare -A m=([k]=v); sleep 0.01 & exec 3<<<three",
    );
    const { stdout } = await bash(
      'pwd; echo $A $b ${m[k]}; f x; wait $! && echo waited; read -r line <&3; echo "$line"',
    );
    assert.equal(stdout, `${cwd}/sub\n1 2 v\nf:x\nwaited\nthree`);
    assert.equal(shellCwd(state), `${cwd}/sub`);
    assert.equal((state.get("cwd") as () => string)(), `${cwd}/sub`);
  }));

test("Bash needs few open files: a command may lower their limit, and the shell continues", () =>
  bench(async ({ bash }) => {
    assert.equal((await bash("ulimit -n 40; echo low")).stdout, "low");
    const { stdout, stderr, notice } = await bash("ulimit -n; echo err >&2");
    assert.deepEqual([stdout, stderr, notice], ["40", "err", undefined]);
  }));

test("a shell that may open too few files ends with the reason, and is not waited for", async () => {
  using folder = scratch();
  const low = ["bash", "-c", 'ulimit -n 20; exec "$@"', "bash"];
  const shell = await openShell({ cwd: folder.path, env: process.env, wrap: (argv) => [...low, ...argv] });
  let said = "";
  const { status, how } = await shell.run("echo hi", { onOutput: (_, data) => said += data, timeout: 60_000 });
  assert.deepEqual([status, how], [1, "done"]);
  assert.match(said, /Bad file descriptor/);
});

for (
  const [command, ...expected] of [
    ["echo o; echo e >&2; exit 3", "o\n", "e\n", 3],
    ["set -u; echo o; sleep 600 & echo e >&2; echo $none", "o\n", /^e\n.*none: unbound variable\n$/, 1],
    ["trap - EXIT; echo o; echo e >&2; exit 3", "o\n", "e\n", 3],
    ["exec bash -c 'echo o; echo e >&2; exit 3'", "o\n", "e\n", 3],
  ] as const
) {
  test(`what a shell printed is heard though it ends and a busy machine is slow to pass it on: ${command}`, async () => {
    using folder = scratch({ "bin/cat": "#!/bin/sh\nsleep 0.4\nexec /bin/cat\n" });
    chmodSync(join(folder.path, "bin/cat"), 0o755);
    const env = { ...process.env, PATH: `${join(folder.path, "bin")}:${process.env.PATH}` };
    const shell = await openShell({ cwd: folder.path, env });
    const said = { stdout: "", stderr: "" };
    const { status, alive } = await shell.run(command, { onOutput: (stream, data) => said[stream] += data });
    const [out, err, code] = expected;
    assert.deepEqual([said.stdout, status, alive], [out, code, false]);
    assert.match(said.stderr, typeof err === "string" ? new RegExp(`^${err}$`) : err);
  });
}

test("Bash says so when nothing was printed, and never hides blanks at the start", () =>
  bench(async ({ content }) => {
    assert.equal(await content("true"), "(Bash completed with no output)");
    assert.equal(await content("printf '  a\\n\\n'; echo b >&2"), "  a\nb");
  }));

test("Bash gives commands no input, and survives one that closes it", () =>
  bench(async ({ bash }) => {
    assert.equal((await bash("cat; read -r x; echo $?; exec 0<&-; echo closed")).stdout, "1\nclosed");
    assert.equal((await bash("cat; echo on")).stdout, "on");
  }));

test("Bash survives commands that turn its own descriptors and options", () =>
  bench(async ({ bash, fails }) => {
    await bash("exec >/dev/null 2>&1; echo lost");
    assert.equal((await bash("echo heard; echo seen >&2")).stderr, "seen");
    assert.equal((await bash("set -x; echo traced")).stdout, "traced");
    assert.equal((await bash("set +x; echo plain")).stdout, "plain");
    assert.match((await fails("if")).message, /^Exit code \d+\n.*syntax error/s);
    assert.equal((await bash("break; continue; echo after")).stdout, "after");
    assert.equal((await bash("IFS=,; shopt -s nullglob; set -f; set -u; echo ok")).stdout, "ok");
    assert.equal((await bash("echo again")).stdout, "again");
  }));

test("Bash lets commands open /dev/stdout and /dev/stderr", () =>
  bench(async ({ bash }) => {
    const { stdout, stderr } = await bash("echo a; echo b > /dev/stdout; echo c | tee /dev/stderr; echo d");
    assert.deepEqual([stdout, stderr], ["a\nb\nc\nd", "c"]);
  }));

test("Bash does not wait for a daemon that holds the pipes, and shows its output later", () =>
  bench(async ({ bash }) => {
    const word = token();
    const { stdout } = await bash(`(sleep 0.3; echo late; exec ${sleeper(word)}) & echo now`);
    assert.equal(stdout, "now");
    assert.ok(await eventually(() => running(word) > 0));
    // Heard before the next command starts, not during it.
    await sleep(100);
    assert.equal((await bash("echo next")).stdout, "late\nnext");
  }));

test("Bash cuts long output to 30,000 characters and keeps every byte in a file", () =>
  bench(async ({ bash, cwd }) => {
    const { stdout, stderr, persistedOutputPath, persistedOutputSize } = await bash(
      "seq 1 9; sleep 0.1; seq 10 600000; echo end >&2",
    );
    assert.equal(stderr, "end");
    assert.ok(stdout.length <= 30_000 && stdout.length > 29_000, `${stdout.length}`);
    assert.ok(stdout.startsWith("1\n2\n3\n") && stdout.endsWith("\n599999\n600000"));
    assert.ok(stdout.includes(persistedOutputPath!));
    const whole = readFileSync(persistedOutputPath!, "utf8");
    assert.ok(stdout.includes(`output of ${whole.length - "end\n".length} bytes`));
    assert.equal(whole.replace("end\n", ""), Array.from({ length: 600_000 }, (_, i) => `${i + 1}\n`).join(""));
    assert.equal(statSync(persistedOutputPath!).size, persistedOutputSize);
    assert.ok(persistedOutputPath!.startsWith(join(cwd, ".crochet/")));
    assert.equal(readFileSync(join(cwd, ".crochet/tool-results/.gitignore"), "utf8"), "*\n");
  }));

test("Bash shows 30,000 characters whole and makes no file of them", () =>
  bench(async ({ bash, cwd }) => {
    const { stdout, persistedOutputPath } = await bash("head -c 30000 /dev/zero | tr '\\0' x");
    assert.deepEqual([stdout.length, persistedOutputPath], [30_000, undefined]);
    const wide = await bash("printf 'é%.0s' {1..30000}");
    assert.deepEqual([wide.stdout.length, wide.persistedOutputPath], [30_000, undefined]);
    const folder = join(cwd, ".crochet/tool-results");
    assert.deepEqual(existsSync(folder) ? readdirSync(folder).filter((name) => name !== ".gitignore") : [], []);
    assert.ok((await bash("head -c 30001 /dev/zero | tr '\\0' x")).persistedOutputPath);
  }));

test("Bash survives binary output and never splits a character", () =>
  bench(async ({ bash }) => {
    assert.equal((await bash("printf 'a\\xff\\xfeb\\0c'")).stdout, "a\uFFFD\uFFFDb\0c");
    assert.ok((await bash("head -c 500000 /dev/urandom")).stdout.isWellFormed());
    for (const [head, tail] of [["", ""], ["x", ""], ["", "y"], ["x", "y"]]) {
      const { stdout } = await bash(`printf '${head}'; printf '😀%.0s' {1..20000}; printf '${tail}'`);
      assert.ok(stdout.isWellFormed() && !stdout.includes("\uFFFD"));
    }
  }));

const DEATHS = { "exit 3": 3, "kill -9 $$": 137, "exec sh -c 'exit 4'": 4, "set -e; false": 1 };

for (const [death, status] of Object.entries(DEATHS)) {
  test(`Bash after '${death}' continues in a new shell in the same folder and says so`, () =>
    bench(async ({ bash, fails, cwd }) => {
      await bash("mkdir d; cd d; x=1");
      assert.equal((await fails(`echo last; ${death}`)).message, `Exit code ${status}\nlast`);
      const next = await bash('pwd; echo "[$x]"');
      assert.equal(next.stdout, `${cwd}/d\n[]`);
      assert.match(next.notice!, /^The shell had ended: this is a new one in .*\/d,/);
      assert.equal((await bash("echo ok")).notice, undefined);
    }));
}

test("Bash puts the notice of a new shell before the output, and into no other field", () =>
  bench(async ({ bash, fails, content }) => {
    await fails("exit 1");
    assert.match(await content("echo out"), /^The shell had ended: [^\n]+\nout$/);
    assert.equal((await bash("echo out")).stdout, "out");
  }));

test("Bash knows the folder of a shell that left it and exited in one command", () =>
  bench(async ({ bash, fails, cwd }) => {
    await fails("mkdir e; cd e; exit 3");
    assert.equal((await bash("pwd")).stdout, `${cwd}/e`);
  }));

test("Bash goes back to its first folder when the shell's folder is gone", () =>
  bench(async ({ bash, fails, cwd }) => {
    await fails("mkdir gone; cd gone; exit 1");
    rmSync(join(cwd, "gone"), { recursive: true });
    const { stdout, notice } = await bash("pwd");
    assert.equal(stdout, cwd);
    assert.match(notice!, /The folder .*\/gone is gone/);
  }));

test("Bash streams output while the command runs", () =>
  bench(async ({ bash, cwd }) => {
    const seen: string[] = [];
    const release = join(cwd, "release");
    const progress = (text: string) => {
      seen.push(text);
      // The command goes on only because its output was heard before its end.
      if (seen.join("").includes("first")) mkdirSync(release, { recursive: true });
    };
    const { stdout } = await bash(
      `echo first; until [ -d release ]; do sleep 0.01; done; echo err >&2; echo last`,
      {},
      { progress },
    );
    assert.equal(stdout, "first\nlast");
    assert.deepEqual(seen.join("").split("\n").sort(), ["", "err", "first", "last"]);
  }));

test("Bash streams at most 30,000 characters and says that it stops", () =>
  bench(async ({ bash }) => {
    let live = "";
    await bash("seq 1 100000", {}, { progress: (text) => live += text });
    assert.ok(live.length < 30_100 && live.endsWith("… (the rest is not shown live)\n"));
  }));

test("Bash runs calls of one agent one after another", () =>
  bench(async ({ bash }) => {
    const outs = await Promise.all([
      bash("sleep 0.1; n=1; echo a$n"),
      bash("n=$((n+1)); echo b$n"),
      bash("n=$((n+1)); echo c$n"),
    ]);
    assert.deepEqual(outs.map((o) => o.stdout), ["a1", "b2", "c3"]);
  }));

test("Bash takes a command of a megabyte", () =>
  bench(async ({ bash }) => {
    assert.equal((await bash(`x='${"y".repeat(1_000_000)}'; echo \${#x}`)).stdout, "1000000");
  }));

test("Bash refuses a time limit over ten minutes, a missing command, an unknown field and a NUL", () =>
  bench(async ({ call, fails }) => {
    await assert.rejects(() => call(Bash, { command: "true", timeout: 600_001 }), /timeout/);
    await assert.rejects(() => call(Bash, {} as { command: string }), /command/);
    await assert.rejects(() => call(Bash, { command: "true", cmd: 1 } as { command: string }), /cmd|additional/i);
    assert.match((await fails("echo \0")).message, /^Cannot run the command as it holds a NUL character/);
  }));

test("bash() runs one command alone and leaves no shell", async () => {
  const { stdout } = await bash({ command: "echo $$; pwd" }, { cwd: "/" });
  const [pid, pwd] = stdout.split("\n");
  assert.equal(pwd, "/");
  assert.throws(() => process.kill(Number(pid), 0));
  await assert.rejects(() => bash({ command: "sleep 9", run_in_background: true }), /pass 'state'/);
});

test("bash() calls with one state share a shell until closeShell() ends it", async () => {
  const state = new Map<string, unknown>();
  const word = token();
  await bash({ command: `x=5; ${sleeper(word)} &` }, { state });
  assert.equal((await bash({ command: "echo $x" }, { state })).stdout, "5");
  assert.ok(await eventually(() => running(word) > 0), "it was started, and on a busy machine is seen later");
  await closeShell(state);
  assert.equal(running(word), 0);
  assert.equal(state.size, 0);
});
