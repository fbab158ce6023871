import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { HOST_NAMES, type HostName } from "../../../lib/hooks/hosts/index.ts";
import { checkHook } from "../../../lib/testing/index.ts";
import type { Finding } from "../../../lib/extensions/check/check-report.ts";
import { noSandbox } from "../../_needs.ts";
import { serve } from "../../_server.ts";
import { checked, codes, hookFiles, settings, sh, SLOW } from "./_check-files.ts";

test(
  "check reports what a hook leaves running, waits for what ends by itself, and puts back what it writes",
  SLOW,
  async () => {
    // A hook that finds a trace of the last question says so with an exit code that is a fault.
    const writes = [
      '[ -e seen ] || [ -e "$HOME/seen" ] || [ ! -d src ] && { echo "I was here" >&2; exit 1; }',
      'touch seen "$HOME/seen"; rm -rf src',
      "exit 0",
    ];
    const found = await codes({
      "notification.leaves.sh": sh("sleep 77 >/dev/null 2>&1 &"),
      "notification.short.sh": sh("sleep 0.2 >/dev/null 2>&1 &"),
      "pre-tool-use@Bash.writes.sh": sh(...writes),
    }, { laws: ["reliable", "deterministic", "safe"] });
    assert.deepEqual(found, {
      "notification.leaves.sh": "fails.leftover-process",
      "notification.short.sh": "",
      "pre-tool-use@Bash.writes.sh": "",
    });
  },
);

test("a secret is seen in every form, and a guard that quotes what it reads is safe", SLOW, async () => {
  const found = await codes({
    "pre-tool-use@Bash.quoted.sh": sh(
      `cmd=$(printf '%s' "$event" | sed -n 's/.*"command":"\\(.*\\)","description".*/\\1/p')`,
      `printf '%s' "$cmd" | grep -q secret; exit 0`,
    ),
    "user-prompt-submit.base64.sh": sh(`printf '%s' "$GITHUB_TOKEN" | base64`),
  });
  assert.deepEqual(found, {
    "pre-tool-use@Bash.quoted.sh": "guard.denies-nothing",
    "user-prompt-submit.base64.sh": "unsafe.secret-leak",
  });
});

// Kills: plain events for hooks of Claude Code alone.
test("check never passes dangerous events to a hook of another host that runs their text", SLOW, async () => {
  using folder = hookFiles({
    ".codex/hooks.json": settings("PreToolUse", { command: "sh eval.sh" }, "Bash"),
    ".gemini/settings.json": settings("BeforeTool", { command: "sh eval.sh" }),
    "eval.sh": sh(
      `cmd=$(printf '%s' "$event" | sed -n 's/.*"command":"\\([^"]*\\)".*/\\1/p')`,
      `eval "$cmd" >/dev/null 2>&1`,
      "exit 0",
    ),
  });
  for (const settings of [".codex/hooks.json", ".gemini/settings.json"]) {
    const options = { runs: 4, seed: 1, cwd: folder.path, laws: ["safe"] } as const;
    const { hooks: [hook] } = await checkHook(settings, options);
    const found = hook!.findings.map(({ code }) => code).filter((code) => code.startsWith("unsafe"));
    assert.deepEqual([found, hook!.runs < hook!.asked], [["unsafe.shell-injection"], true], settings);
  }
});

test("a hook that is checked writes nothing outside and reaches no network: both are warnings", {
  ...SLOW,
  skip: noSandbox,
}, async () => {
  let calls = 0;
  using server = await serve((_, response) => {
    calls++;
    response.end("ok");
  });
  const mark = `${tmpdir()}/crochet-check-mark-${process.pid}`;
  const { ok, hooks } = await checked({
    "notification.fetches.ts": `export default async () => { await fetch("${server.url}"); };`,
    "notification.inside.sh": sh(`echo x > "$HOME/log"; echo y > "$TMPDIR/log"; echo z > log; exit 0`),
    "notification.outside.sh": sh(`echo x > ${mark}; echo y > /usr/crochet-mark; exit 0`),
  }, { runs: 2 });
  const found = hooks.map(({ findings }) => findings.map(({ code }) => code).join());
  assert.deepEqual([ok, found], [true, ["unsafe.needs-network", "", "unsafe.writes-outside"]]);
  assert.ok(!existsSync(mark) && !existsSync("/usr/crochet-mark") && calls === 0);
});

test("guards are tried with refused calls written another way: what passes is a warning", SLOW, async () => {
  const { hooks, ok } = await checked({
    "pre-tool-use@Bash.closed.sh": sh("echo no >&2", "exit 2"),
    "pre-tool-use@Bash.closed.examples.yaml": "- { event: { tool_input: { command: ls } }, expect: deny }\n",
    "pre-tool-use@Bash.text.sh": sh(`case "$event" in *'"command":"rm -rf'*) echo "no" >&2; exit 2;; esac`),
    "pre-tool-use@Write.path.ts":
      `export default ({ input }, { cwd }) => input.file_path === cwd + "/.env" ? { action: "deny", reason: "no" } : undefined;`,
  }, { laws: ["guard"] });
  const ways = (findings: readonly Finding[]) =>
    findings.flatMap(({ counterexample }) =>
      (counterexample as { passes: { how: string }[] }).passes.map(({ how }) => how)
    );
  const [closed, text, path] = hooks.map(({ findings }) => ways(findings));
  assert.deepEqual([ok, closed], [true, []]);
  for (const how of ["a quote inside the name", "sh -c", "on a second line", "${IFS}", "an absolute path"]) {
    assert.ok(text!.includes(how), `${how} is not among ${text}`);
  }
  assert.deepEqual(path, ["./ in the path", "../ in the path", "two slashes", "a relative path", "a symbolic link"]);
});

test("a clock is no change of a verdict, and rewriting another field no conflict", SLOW, async () => {
  const rewrites = (field: string) =>
    `export default ({ input }) => ({ action: "modify", value: { ...input, ${field}: "x" } });`;
  const found = await codes({
    "pre-tool-use@Bash.1.ts": rewrites("command"),
    "pre-tool-use@Bash.2.ts": rewrites("description"),
    "user-prompt-submit.clock.sh": sh("date '+It is %A, %d %b, %T.%N'"),
  }, { laws: ["order", "deterministic"] });
  assert.deepEqual(Object.values(found), ["", "", ""]);
});

test("--for holds a module to what the host can do", SLOW, async () => {
  const files = {
    "notification.quiet.ts": "export default () => undefined;\n",
    "post-tool-use@Bash.mask.ts": 'export default () => ({ action: "modify", value: "masked" });\n',
    "pre-tool-use@Bash.ask.ts": 'export default () => ({ action: "ask", reason: "Sure?" });\n',
  };
  const found = async (host: "codex" | "gemini") =>
    Object.values(await codes(files, { host, runs: 3, laws: ["protocol"] }));
  assert.deepEqual(await found("codex"), [
    "protocol.never-runs",
    "protocol.unsupported-by-host",
    "protocol.unsupported-by-host",
  ]);
  assert.deepEqual(await found("gemini"), ["", "", ""]);
});

test("a module and a script can be checked for every host", SLOW, async () => {
  const files = { "stop.quiet.ts": "export default () => undefined;\n", "stop.quiet.sh": sh("exit 0") };
  for (const host of HOST_NAMES) {
    const found = await codes(files, { host, runs: 2, laws: ["protocol"] });
    assert.deepEqual(found, { "stop.quiet.sh": "", "stop.quiet.ts": "" }, host);
  }
});

test(
  "--for asks a script of ours as crochet hook does: in the form of Claude Code, and fitted to the host",
  SLOW,
  async () => {
    const inside = (fields: string) => `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse",${fields}}}'`;
    const files = {
      "notification.quiet.sh": sh("exit 0"),
      "pre-tool-use@Bash.ask.sh": sh(inside('"permissionDecision":"ask","permissionDecisionReason":"Sure?"')),
      "pre-tool-use@Bash.claude.sh": sh(
        'case $event in *\'"hook_event_name":"PreToolUse"\'*\'"tool_name":"Bash"\'*) exit 0 ;; esac',
        "exit 1",
      ),
      "pre-tool-use@Bash.note.sh": sh(inside('"additionalContext":"note"')),
    };
    const found = async (host: HostName) => Object.values(await codes(files, { host, runs: 3, laws: ["protocol"] }));
    const ask = "protocol.unsupported-by-host";
    assert.deepEqual(await found("claude"), ["", "", "", ""]);
    assert.deepEqual(await found("gemini"), ["", "", "", ask]);
    assert.deepEqual(await found("codex"), ["protocol.never-runs", ask, "", ""]);
    assert.deepEqual(await found("pi"), ["protocol.never-runs", ask, "", ask]);
  },
);

test("a guard that denies nothing and a rewriting that is not idempotent are warnings", SLOW, async () => {
  const modify = (command: string) =>
    `export default ({ input }) => ({
    action: "modify", value: { ...input, command: ${command} } });`;
  const { ok, hooks } = await checked({
    "pre-tool-use@Bash.adds.ts": modify("`${input.command} --verbose`"),
    "pre-tool-use@Bash.blind.sh": sh('case "$event" in *"drop tabel"*) ;; esac'),
    "pre-tool-use@Bash.logs.sh": sh("date >> calls.log"),
    "pre-tool-use@Bash.observes.sh": "#!/bin/sh\n# crochet: mode=observe\ncat >/dev/null\n",
    "pre-tool-use@Bash.rare.sh": sh('case "$event" in *frobnicate*) echo no >&2; exit 2 ;; esac'),
    "pre-tool-use@Bash.sets.ts": modify('"ls"'),
    "pre-tool-use@Bash.state.ts": `import { existsSync } from "node:fs";
      export default () => existsSync("frozen") ? { action: "deny", reason: "Frozen" } : undefined;
      export const examples = [{ given: { frozen: "" }, expect: "deny" }];`,
  }, { runs: 300, laws: ["guard", "order"] });
  assert.ok(ok);
  const own = (findings: readonly Finding[]) => findings.filter(({ code }) => /nothing|idempotent/.test(code));
  assert.deepEqual(
    hooks.flatMap(({ findings }) => own(findings)).map(({ hook, code, message }) => [hook, code, message]),
    [
      [
        "pre-tool-use@Bash.adds.ts",
        "conflict.not-idempotent",
        'It rewrites its own rewriting: {"command":"npm test --verbose","description":"Run the tests"} becomes ' +
        '{"command":"npm test --verbose --verbose","description":"Run the tests"}',
      ],
      [
        "pre-tool-use@Bash.blind.sh",
        "guard.denies-nothing",
        "It denied 0 of 300 events, dangerous calls and what its own constants name among them",
      ],
    ],
  );
});

// Kills: a limit in time for a part of the check, after which it passes in silence.
test("within any time a hook has its one verdict, or was not checked enough", SLOW, async () => {
  using folder = hookFiles({
    "pre-tool-use@Bash.late.sh": sh("sleep 0.02", 'case "$event" in *find*-delete*) echo no; exit 1 ;; esac'),
    "stop.endless.sh": sh("sleep 0.02", "echo more >&2", "exit 2"),
    "stop.lets-go.sh": sh("sleep 0.02", 'case "$event" in *\'active":true\'*) ;; *) echo more >&2; exit 2 ;; esac'),
  });
  const verdicts = async (time: number) => {
    const options = { runs: 20, seed: 1, rounds: 20, timeout: 20, time, cwd: folder.path };
    const { hooks } = await checkHook(folder.path, options);
    return hooks.map(({ findings, unchecked, runs, asked, termination }) => {
      assert.ok(
        unchecked === undefined || /^\d+ of \d+ events(?:, but not every law)?: not checked enough$/.test(unchecked),
      );
      const faults = findings.filter(({ severity }) => severity === "fault").map(({ code }) => code);
      if (faults.length > 0) return faults.join();
      if (unchecked !== undefined) return "not enough";
      assert.equal(runs, asked);
      return termination?.letsGo ?? "passes";
    });
  };
  const whole = await verdicts(600);
  assert.deepEqual(whole, ["protocol.exit-1", "endless.loop", "on stop_hook_active"]);
  const seen = new Set<string>();
  for (const time of [0.2, 1, 3]) {
    for (const [i, verdict] of (await verdicts(time)).entries()) {
      seen.add(verdict);
      assert.ok(verdict === whole[i] || verdict === "not enough", `${verdict} within ${time} s`);
    }
  }
  assert.ok(seen.has("not enough"), [...seen].join());
});

test("the same seed always finds the same smallest event, and its command line shows it again", SLOW, async () => {
  using folder = hookFiles({
    "pre-tool-use@Bash.desc.ts": `export default ({ input }) => { input.description.trim(); };`,
    "pre-tool-use@Bash.no-force.sh": sh(`case "$event" in *--force*) echo "it's not allowed" >&2; exit 1;; esac`),
  });
  const found = async () => {
    const options = { runs: 6, seed: 5, cwd: folder.path, laws: ["reliable", "protocol"] } as const;
    const { hooks } = await checkHook(folder.path, options);
    return hooks.map(({ findings }) => findings[0]!);
  };
  const [first, again] = [await found(), await found()];
  assert.deepEqual(first.map(({ code }) => code), ["fails.crash", "protocol.exit-1"]);
  assert.deepEqual(
    first.map(({ counterexample }) => counterexample),
    again.map(({ counterexample }) => counterexample),
  );
  const { input } = first[0]!.counterexample as { input: { description?: string } };
  assert.equal(input.description, undefined, "the smallest event has no such field");
  const { stdout, stderr } = spawnSync("/bin/sh", ["-c", first[1]!.reproduce], { cwd: folder.path, encoding: "utf8" });
  assert.match(stdout, /exit code 1/);
  assert.match(stderr, /it's not allowed/);
});
