import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { main } from "../../lib/cli/main.ts";
import { place } from "../_place.ts";
import { NO_PTY, Pty } from "../_pty.ts";

async function output(...args: string[]): Promise<string> {
  using here = place();
  const { code, out, err } = await here.call(main, ...args);
  assert.equal(code, 0, err);
  return out;
}

/** What bash offers after some words, by the function it would call itself. */
function offered(script: string, ...words: string[]): string[] {
  const line = words.map((word) => `'${word}'`).join(" ");
  const { stdout, stderr, status } = spawnSync("bash", [
    "--norc",
    "-c",
    `${script}
COMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _crochet; printf '%s\\n' "\${COMPREPLY[@]}"`,
  ], {
    encoding: "utf8",
  });
  assert.deepEqual([status, stderr], [0, ""]);
  return stdout.split("\n").filter((word) => word !== "");
}

/** The flags and actions that a command's own help names. */
function named(help: string): string[] {
  return [...help.matchAll(/^ {2}(--[\w-]+)/gm)].map(([, flag]) => flag!);
}

test("bash completes every command with exactly the flags its help names", async () => {
  const script = await output("completions", "bash");
  const commands = [...(await output("help")).matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name!);
  assert.ok(commands.length >= 15);
  assert.deepEqual(
    offered(script, "crochet", "").filter((word) => !/^(--.*|help)$/.test(word)).sort(),
    commands.sort(),
  );
  for (const command of commands) {
    const help = await output(command, "--help");
    const actions = [...help.matchAll(/^ {2}([a-z]+) {2}/gm)].map(([, action]) => action!);
    const isGroup = help.includes("<action> --help shows more");
    assert.deepEqual(offered(script, "crochet", command, ""), isGroup ? actions : named(help), command);
    for (const action of isGroup ? actions : []) {
      const flags = named(await output(command, action, "--help"));
      assert.ok(flags.includes("--help"));
      assert.deepEqual(offered(script, "crochet", command, action, "--"), flags, `${command} ${action}`);
    }
  }
});

test("bash completes a beginning, and leaves a flag's value to files", async () => {
  const script = await output("completions", "bash");
  assert.deepEqual(offered(script, "crochet", "hook"), ["hooks", "hook"]);
  assert.deepEqual(offered(script, "crochet", "run", "--perm"), ["--permission-mode"]);
  assert.deepEqual(offered(script, "crochet", "run", "--cwd", ""), []);
  assert.deepEqual(offered(script, "crochet", "hooks", "ins"), ["install"]);
});

test(
  "a Tab in bash completes a command, and the script is what eval takes",
  { skip: NO_PTY ?? false, timeout: 60_000 },
  async () => {
    using here = place();
    const script = join(here.home, "completions.bash");
    writeFileSync(
      script,
      `${await output("completions", "bash")}\nPS1='ready> '\nbind 'set show-all-if-ambiguous on'\n`,
    );
    await using bash = new Pty(["bash", "--noprofile", "--rcfile", script, "-i"], { cwd: here.cwd });
    await bash.until(/ready>/);
    bash.send("crochet transc\tex");
    await bash.until(/crochet transcripts ex/);
    bash.send("\u0015crochet hooks uni\t--f\t");
    await bash.until(/crochet hooks uninstall --for/);
    bash.send("\u0015exit\r");
    assert.equal(await bash.end(), 0);
  },
);

for (const shell of ["bash", "zsh", "fish"]) {
  const there = spawnSync(shell, ["-c", "true"]).status === 0;
  test(`the script for ${shell} has no mistake that ${shell} sees`, {
    skip: there ? false : `${shell} is not installed here`,
  }, async () => {
    const script = await output("completions", shell);
    const { status, stderr } = spawnSync(shell, shell === "fish" ? ["--no-execute"] : ["-n"], {
      input: script,
      encoding: "utf8",
    });
    assert.deepEqual([status, stderr], [0, ""]);
  });
}

test("completions for an unknown shell are refused with the known ones", async () => {
  await assert.rejects(output("completions", "tcsh"), /expected bash, zsh or fish/);
});
