import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { BashOutput, type BashOutputResponse, KillShell } from "../../lib/tools/background.ts";
import { backgroundTasks } from "../../lib/tools/tool-state.ts";
import { Bash, type BashResponse, closeShell } from "../../lib/tools/bash.ts";
import { tries } from "../_counts.ts";
import { RUNTIME } from "../_runtime.ts";
import { scratch } from "../_scratch.ts";
import { bench, eventually, running, sleeper, token } from "./_bash.ts";

test("Bash at its time limit ends the whole tree, says so, and continues in a new shell", () =>
  bench(async ({ bash, fails, cwd }) => {
    const word = token();
    await bash("mkdir d; cd d");
    const error = await fails(`echo before; ${sleeper(word)} & (${sleeper(word)} | ${sleeper(word)})`, {
      timeout: 300,
    });
    assert.match(
      error.message,
      /^Command timed out after 300 ms and was ended with everything it started: [^\n]+\nbefore$/,
    );
    assert.equal((error.response as BashResponse).interrupted, false);
    assert.equal(running(word), 0);
    const next = await bash("pwd");
    assert.equal(next.stdout, `${cwd}/d`);
    assert.match(next.notice!, /^The shell had ended/);
  }));

test("Bash ends children that ignore TERM and children that left the group", () =>
  bench(async ({ fails }) => {
    const word = token();
    await fails(`trap '' TERM; setsid ${sleeper(word)} & nohup ${sleeper(word)} >/dev/null 2>&1 & ${sleeper(word)}`, {
      timeout: 300,
    });
    assert.equal(running(word), 0);
  }));

test("Bash ends the whole tree when the call is aborted, and reports the interruption", () =>
  bench(async ({ fails, bash }) => {
    const word = token();
    const abort = new AbortController();
    const failing = fails(`${sleeper(word)} & ${sleeper(word)}`, {}, { signal: abort.signal });
    assert.ok(await eventually(() => running(word) >= 2));
    abort.abort();
    const error = await failing;
    assert.match(error.message, /^Command was interrupted/);
    assert.equal((error.response as BashResponse).interrupted, true);
    assert.equal(running(word), 0);
    assert.equal((await bash("echo on")).stdout, "on");
  }));

test("Bash never starts a command whose call is aborted already", () =>
  bench(async ({ fails, bash, cwd }) => {
    await bash("x=kept");
    await fails("touch ran", {}, { signal: AbortSignal.abort() });
    assert.equal((await bash(`ls -A ${cwd}; echo $x`)).stdout, "kept");
  }));

test("Bash ends what a shell left running when the shell exits", () =>
  bench(async ({ fails }) => {
    const word = token();
    await fails(`${sleeper(word)} & exit 1`);
    assert.ok(await eventually(() => running(word) === 0));
  }));

test("Bash ends what a shell left running when the command ends its own group", () =>
  bench(async ({ fails }) => {
    const word = token();
    await fails(`(trap '' TERM; exec ${sleeper(word)}) & sleep 0.1; kill 0`);
    assert.ok(await eventually(() => running(word) === 0));
  }));

test("a background run continues, can be polled for new output, and ends with its exit code", () =>
  bench(async ({ call, bash, cwd, state }) => {
    await bash("export A='a b'; mkdir d; cd d");
    const started = await call(Bash, {
      command: 'echo one; pwd; echo "$A"; until [ -e go ]; do sleep 0.02; done; echo two >&2; exit 4',
      description: "waits",
      run_in_background: true,
    });
    const { backgroundTaskId: id, ...rest } = started.response as BashResponse;
    assert.deepEqual(rest, { stdout: "", stderr: "", interrupted: false, isImage: false, noOutputExpected: false });
    assert.match(started.content as string, new RegExp(`^Command running in background with ID: ${id}\\.`));
    assert.equal((await bash("echo meanwhile")).stdout, "meanwhile");
    const look = async () => (await call(BashOutput, { bash_id: id! })).response as BashOutputResponse;
    let seen = "";
    await eventually(async () => (seen += (await look()).stdout).includes("a b\n"));
    assert.equal(seen, `one\n${cwd}/d\na b\n`);
    const idle = await look();
    assert.deepEqual([idle.status, idle.exitCode, idle.stdout], ["running", null, ""]);
    assert.deepEqual(backgroundTasks(state).map((t) => [t.id, t.type, t.status, t.description]), [[
      id,
      "shell",
      "running",
      "waits",
    ]]);
    await bash("touch go");
    assert.ok(await eventually(() => backgroundTasks(state)[0]!.status === "ended"));
    const last = await look();
    assert.deepEqual([last.status, last.exitCode, last.stderr], ["failed", 4, "two\n"]);
    await assert.rejects(() => call(KillShell, { shell_id: id! }), /^ToolError: Cannot end .* as it has ended already/);
  }));

test("a background run gets what the shell exports, and never what is printed meanwhile", () =>
  bench(async ({ call, bash }) => {
    await bash("export B=$'x\\ny=z'; (while :; do echo noise; done) & sleep 0.1");
    const { response } = await call(Bash, { command: 'printf %s "$B"', run_in_background: true });
    const id = (response as BashResponse).backgroundTaskId!;
    let text = "";
    const hasEnded = async () => {
      const { stdout, status } = (await call(BashOutput, { bash_id: id })).response as BashOutputResponse;
      text += stdout;
      return status !== "running";
    };
    assert.ok(await eventually(hasEnded));
    assert.equal(text, "x\ny=z");
    assert.match((await bash("echo $B; kill %1")).stdout, /^noise\n/);
  }));

test("KillShell ends a background run with its whole tree", () =>
  bench(async ({ call }) => {
    const word = token();
    const { response } = await call(Bash, {
      command: `${sleeper(word)} & setsid ${sleeper(word)}`,
      run_in_background: true,
    });
    const id = (response as BashResponse).backgroundTaskId!;
    assert.ok(await eventually(() => running(word) >= 2));
    const killed = await call(KillShell, { shell_id: id });
    assert.deepEqual((killed.response as { shell_id: string }).shell_id, id);
    assert.equal(running(word), 0);
    assert.equal(((await call(BashOutput, { bash_id: id })).response as BashOutputResponse).status, "killed");
  }));

test("BashOutput filters lines, and says what is wrong with a filter or an id", () =>
  bench(async ({ call, state }) => {
    await assert.rejects(
      () => call(BashOutput, { bash_id: "bash_1" }),
      /Cannot find background run 'bash_1' as no run has that ID: none was started/,
    );
    await call(Bash, { command: "seq 1 20", run_in_background: true });
    assert.ok(await eventually(() => backgroundTasks(state)[0]!.status === "ended"));
    await assert.rejects(() => call(BashOutput, { bash_id: "bash_1", filter: "(" }), /Cannot use filter '\('/);
    await assert.rejects(() => call(BashOutput, { bash_id: "bash_1", filter: "(1+)+$" }), /exponential time/);
    const { content } = await call(BashOutput, { bash_id: "bash_1", filter: "^1" });
    assert.equal(content, "Status: completed, exit code 0\n1\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19");
    await assert.rejects(() => call(BashOutput, { bash_id: "x" }), /the runs are bash_1/);
  }));

test("BashOutput never splits a character between two looks", () =>
  bench(async ({ call, state, cwd }) => {
    await call(Bash, {
      command: "printf '\\xf0\\x9f'; touch half; until [ -e go ]; do sleep 0.02; done; printf '\\x98\\x80'",
      run_in_background: true,
    });
    assert.ok(await eventually(() => existsSync(join(cwd, "half"))));
    await sleep(100); // until it is heard here, too
    const first = (await call(BashOutput, { bash_id: "bash_1" })).response as BashOutputResponse;
    await call(Bash, { command: "touch go" });
    assert.ok(await eventually(() => backgroundTasks(state)[0]!.status === "ended"));
    const second = (await call(BashOutput, { bash_id: "bash_1" })).response as BashOutputResponse;
    assert.deepEqual([first.stdout, second.stdout], ["", "😀"]);
  }));

test("closeShell() leaves nothing running: not the shell, not its jobs, not background runs", () =>
  bench(async ({ bash, call, state }) => {
    const word = token();
    await bash(`${sleeper(word)} &`);
    await call(Bash, { command: sleeper(word), run_in_background: true });
    assert.ok(await eventually(() => running(word) >= 2));
    await closeShell(state);
    assert.equal(running(word), 0);
  }));

const script = `
import { Bash } from ${JSON.stringify(new URL("../../lib/tools/bash.ts", import.meta.url).href)};
const [word, how] = process.argv.slice(2);
const state = new Map();
const call = (input) => Bash.run(input, { signal: new AbortController().signal, cwd: ".", toolUseId: "t", state, progress() {} });
const forever = "sh -c 'while :; do sleep 0.05; done' " + word;
await call({ command: forever + " & sleep 0.1" });
await call({ command: forever, run_in_background: true });
if (how === "foreground") call({ command: forever });
if (how === "grace") call({ command: "trap '' TERM; " + forever, timeout: 50 });
console.log("ready");
if (how !== "end") setTimeout(() => {}, 60_000);
`;

const ENDS = {
  end: "ends by itself with a shell open",
  SIGTERM: "is ended by SIGTERM",
  SIGKILL: "is ended by SIGKILL",
  foreground: "is killed during a command",
  grace: "is killed while it ends a tree that will not go",
};

for (const [how, claim] of Object.entries(ENDS)) {
  test(`a program that ${claim} leaves nothing running`, async () => {
    const word = token();
    using dir = scratch();
    const file = join(dir.path, "program.mjs");
    writeFileSync(file, script);
    const [program, ...args] = RUNTIME;
    const child = spawn(program, [...args, file, word, how], { stdio: ["ignore", "pipe", "inherit"] });
    try {
      const exit = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
      await new Promise<void>((resolve) =>
        child.stdout.on("data", (data) => String(data).includes("ready") && resolve())
      );
      if (how !== "end") {
        // Two that are not the program itself.
        assert.ok(await eventually(() => running(`sleep 0.05; done ${word}`) >= 2));
        if (how === "grace") await sleep(300);
        child.kill(how === "SIGTERM" ? "SIGTERM" : "SIGKILL");
      }
      const code = await exit;
      if (how === "end") assert.equal(code, 0);
      assert.ok(await eventually(() => running(word) === 0), `${running(word)} still running`);
    } finally {
      child.kill("SIGKILL");
    }
  });
}

/** A command line whose leaves are sleepers, in all the ways a shell can start them. */
function tree(leaf: string): fc.Arbitrary<string> {
  return fc.letrec<{ node: string }>((tie) => ({
    node: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constant(leaf),
      tie("node").map((a) => `( ${a} )`),
      tie("node").map((a) => `{ ${a}; }`),
      fc.tuple(tie("node"), tie("node")).map(([a, b]) => `( ${a} ) & ( ${b} )`),
      fc.tuple(tie("node"), tie("node")).map(([a, b]) => `( ${a} ) | ( ${b} )`),
      tie("node").map((a) => `trap '' TERM HUP INT; ${a}`),
      tie("node").map((a) => `echo "$( ${a} )"`),
      tie("node").map((a) => `setsid sh -c "${a.replace(/[\\"$`]/g, "\\$&")}"`),
      tie("node").map((a) => `nohup sh -c "${a.replace(/[\\"$`]/g, "\\$&")}" >/dev/null 2>&1 & wait`),
      tie("node").map((a) => `cat <( ${a} )`),
      tie("node").map((a) => `exec 5>&1; ${a}`),
    ),
  })).node;
}

test(
  "Bash always ends the whole tree, whatever its shape, on time limit and on abort",
  async () => {
    const word = token();
    await bench(async ({ fails }) => {
      await fc.assert(
        fc.asyncProperty(tree(sleeper(word)), fc.boolean(), async (command, byAbort) => {
          const abort = new AbortController();
          const failing = fails(`${command}; ${sleeper(word)}`, byAbort ? {} : { timeout: 150 }, {
            signal: abort.signal,
          });
          if (byAbort) setTimeout(() => abort.abort(), 150);
          const { code } = await failing;
          assert.equal(code, byAbort ? "aborted" : "timeout");
          assert.equal(running(word), 0);
        }),
        { numRuns: tries(6, 60), interruptAfterTimeLimit: 120_000 },
      );
    });
  },
);

test("Bash always gives the shell the command exactly as it is", () =>
  bench(async ({ bash }) => {
    const piece = fc.oneof(
      fc.constantFrom(
        "'",
        '"',
        "\\",
        "$",
        "`",
        "\n",
        " ",
        "!",
        "#",
        "&",
        ";",
        "EOF",
        "$(x)",
        "\\0",
        "%s",
        "*",
        "~",
        "\r",
        "\t",
      ),
      fc.string({ unit: "binary", maxLength: 4 }).map((s) => s.replaceAll("\0", "")),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 12 }).map((parts) => parts.join("").toWellFormed()),
        async (text) => {
          const { stdout } = await bash(`printf '%s.' '${text.replaceAll("'", "'\\''")}'`);
          assert.equal(stdout, `${text}.`);
        },
      ),
      { numRuns: tries(60, 600) },
    );
  }));
