import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { sandboxHere } from "../../lib/testing/check/asking/sandbox.ts";
import { BrokenLaw, checkHook, type CheckReport, type Finding, laws } from "../../lib/testing/index.ts";
import { withEnv } from "../_env.ts";
import { serve } from "../_server.ts";
import { hookFiles, sh, SLOW, WITH_JQ } from "./_check-files.ts";

const sandbox = await sandboxHere() ? {} : { skip: "bubblewrap does not work here" };

async function found(
  files: { readonly [name: string]: string },
  options: Parameters<typeof checkHook>[1] = {},
): Promise<Finding[]> {
  const { hooks } = await checked(files, options);
  return hooks.flatMap((hook) => hook.findings);
}

/** Checks the first of the files. */
async function checked(
  files: { readonly [name: string]: string },
  options: Parameters<typeof checkHook>[1] = {},
): Promise<CheckReport> {
  using folder = hookFiles(files);
  const [name] = Object.keys(files);
  return await checkHook(`${folder.path}/${name}`, { runs: 12, seed: 1, timeout: 20, rounds: 10, ...options });
}

const codes = (findings: readonly Finding[]) => findings.map(({ code }) => code);

test("check finds a module that loops for ever at once, ends it, and asks on", SLOW, async () => {
  const findings = await found({
    "pre-tool-use@Bash.spin.ts": `export default ({ input }) => { while (String(input.command).includes("'")); };`,
  }, { timeout: 0.5 });
  assert.deepEqual(codes(findings), ["total.late"]);
  assert.match(findings[0]!.message, /limit of this check/);
});

test("check finds a module that ends its own process, and one that cannot be loaded", SLOW, async () => {
  assert.deepEqual(codes(await found({ "notification.ts": "export default () => process.exit(0);" })), ["total.exits"]);
  const [load] = await found({ "notification.ts": "export default 5;" });
  assert.equal(load?.code, "total.load");
  assert.match(load!.message, /default export is no function/);
});

test("check names what a hook leaves running, and lets be what ends by itself", SLOW, async () => {
  const [left] = await found({ "notification.sh": sh("sleep 77 >/dev/null 2>&1 &") });
  assert.equal(left?.code, "total.leaves");
  assert.match(left!.message, /sleep 77/);
  assert.deepEqual(codes(await found({ "notification.sh": sh("sleep 0.2 >/dev/null 2>&1 &") })), []);
});

test("check never hands dangerous events to a hook that runs what it is given", WITH_JQ, async () => {
  const handed = async (line: string) => {
    const { hooks: [hook] } = await checked({
      "pre-tool-use@Bash.run.sh": sh(`cmd=$(printf '%s' "$event" | jq -r .tool_input.command)`, line, "exit 0"),
    });
    return { executes: codes(hook!.findings).includes("polite.executes"), generated: hook!.runs };
  };
  for (
    const line of [
      `eval "$cmd" >/dev/null 2>&1`,
      `sh -c "echo $cmd" >/dev/null 2>&1`,
      `sh -c "echo '$cmd'" >/dev/null 2>&1`,
    ]
  ) {
    assert.deepEqual(await handed(line), { executes: true, generated: 0 }, line);
  }
  const quoted = `printf '%s' "$cmd" | grep -q secret`;
  assert.deepEqual(await handed(quoted), { executes: false, generated: 12 });
});

test("check gives a hook secrets to keep, and sees them in words, in JSON and in base64", SLOW, async () => {
  const leaks = ["env", `printf '{"systemMessage":"%s"}' "$OPENAI_API_KEY"`, `printf '%s' "$GITHUB_TOKEN" | base64`];
  for (const line of leaks) {
    assert.deepEqual(codes(await found({ "user-prompt-submit.sh": sh(line) })), ["polite.leak"], line);
  }
  assert.deepEqual(
    codes(
      await found({
        "user-prompt-submit.ts":
          "export default () => ({ action: 'continue', context: process.env.ANTHROPIC_API_KEY });",
      }),
    ),
    ["polite.leak"],
  );
});

test("a hook that is checked writes nothing outside, and is told apart from one that does not try", {
  ...SLOW,
  ...sandbox,
}, async () => {
  const mark = `${tmpdir()}/crochet-check-mark-${process.pid}`;
  const [outside] = await found({ "notification.sh": sh(`echo x > ${mark}; echo y > /usr/crochet-mark; exit 0`) });
  assert.equal(outside?.code, "polite.writes");
  assert.equal(outside!.severity, "warning");
  assert.ok(!existsSync(mark) && !existsSync("/usr/crochet-mark"));
  const inside = sh(`echo x > "$HOME/log"; echo y > "$TMPDIR/log"; echo z > log; exit 0`);
  assert.deepEqual(codes(await found({ "notification.sh": inside })), []);
});

test("a hook that is checked reaches no network, and that it would is a warning", { ...SLOW, ...sandbox }, async () => {
  let calls = 0;
  using server = await serve((_, response) => {
    calls++;
    response.end("ok");
  });
  const hook = `export default async () => { await fetch("${server.url}"); };`;
  const findings = await found({ "notification.ts": hook }, { runs: 2 });
  assert.deepEqual(findings.map(({ code, severity }) => [code, severity]), [["polite.network", "warning"]]);
  assert.equal(calls, 0);
});

test("what a hook writes or removes is put back before it is asked again", SLOW, async () => {
  // Whoever finds a trace of the last question says so by an exit code that is a fault.
  const once = sh(
    '[ -e seen ] || [ -e "$HOME/seen" ] || [ ! -d src ] && { echo "I was here" >&2; exit 1; }',
    'touch seen "$HOME/seen"',
    "rm -rf src",
    "exit 0",
  );
  assert.deepEqual(codes(await found({ "pre-tool-use@Bash.once.sh": once })), []);
});

test("the same seed always finds the same, with the same smallest event", SLOW, async () => {
  const files = { "pre-tool-use@Bash.desc.ts": `export default ({ input }) => { input.description.trim(); };` };
  const [a, b] = [await found(files, { seed: 5 }), await found(files, { seed: 5 })];
  assert.deepEqual(codes(a), ["total.crash"]);
  assert.deepEqual(a[0]!.counterexample, b[0]!.counterexample);
  assert.equal(a[0]!.reproduce.replace(/crochet-test-\w+/g, ""), b[0]!.reproduce.replace(/crochet-test-\w+/g, ""));
  const { input } = a[0]!.counterexample as { input: { description?: string } };
  assert.equal(input.description, undefined, "the smallest event is one without the field");
});

test("the line that shows a fault again works when it is pasted", SLOW, async () => {
  using folder = hookFiles({
    "pre-tool-use@Bash.no-force.sh": sh(`case "$event" in *--force*) echo "it's not allowed" >&2; exit 1;; esac`),
  });
  const { hooks } = await checkHook(`${folder.path}/pre-tool-use@Bash.no-force.sh`, {
    runs: 40,
    seed: 3,
    cwd: folder.path,
  });
  const [finding] = hooks[0]!.findings;
  assert.equal(finding?.code, "lawful.exit-1");
  const { stdout, stderr } = spawnSync("/bin/sh", ["-c", finding!.reproduce], { cwd: folder.path, encoding: "utf8" });
  assert.match(stdout, /exit code 1/);
  assert.match(stderr, /it's not allowed/);
});

test("guard strength tries what was refused in other words, and takes nothing for a fault", SLOW, async () => {
  const naive = sh(`case "$event" in *'"command":"rm -rf'*) echo "no" >&2; exit 2;; esac`);
  const [bypass] = await found({ "pre-tool-use@Bash.guard.sh": naive }, { laws: ["guard"], runs: 40 });
  assert.equal(bypass?.severity, "warning");
  const { denied, passes } = bypass!.counterexample as { denied: string; passes: { how: string; text: string }[] };
  assert.match(denied, /^rm -rf/);
  const ways = passes.map(({ how }) => how);
  for (
    const how of [
      "a quote inside the name",
      "sh -c",
      "on a second line",
      "${IFS}",
      "an absolute path",
      "the name in a variable",
    ]
  ) {
    assert.ok(ways.includes(how), `${how} is not among ${ways}`);
  }
  const closed = await found({ "pre-tool-use@Bash.guard.sh": sh("echo no >&2", "exit 2") }, { laws: ["guard"] });
  assert.deepEqual(closed, []);
});

test("guard strength leads a guard of paths around corners, and finds none that resolves them", SLOW, async () => {
  const naive =
    `export default ({ input }, { cwd }) => input.file_path === cwd + "/.env" ? { action: "deny", reason: "no" } : undefined;`;
  const [bypass] = await found({ "pre-tool-use@Write.env.ts": naive }, { laws: ["guard"] });
  const { passes } = bypass!.counterexample as { passes: { how: string }[] };
  assert.deepEqual(passes.map(({ how }) => how), [
    "./ in the path",
    "../ in the path",
    "two slashes",
    "a relative path",
    "a symbolic link",
  ]);
  const strict = `import { realpathSync } from "node:fs"; import { dirname, basename, resolve } from "node:path";
    export default ({ input }, { cwd }) => {
      const path = resolve(cwd, input.file_path);
      try { if (realpathSync(dirname(path)) + "/" + basename(path) !== cwd + "/.env") return; } catch { return; }
      return { action: "deny", reason: "no" };
    };`;
  assert.deepEqual(await found({ "pre-tool-use@Write.env.ts": strict }, { laws: ["guard"] }), []);
});

test("two hooks that rewrite the same field are named, and two that do not are not", SLOW, async () => {
  const rewrites = (field: string) =>
    `export default ({ input }) => ({ action: "modify", value: { ...input, ${field}: "x" } });`;
  const order = async (...fields: string[]) => {
    using folder = hookFiles(
      Object.fromEntries(fields.map((field, i) => [`pre-tool-use@Bash.${i}.ts`, rewrites(field)])),
    );
    const { hooks, ok } = await checkHook(folder.path, { runs: 4, laws: ["order"] });
    assert.ok(ok, "a warning is no fault");
    return hooks.flatMap((hook) => hook.findings).map(({ code, message }) => `${code} ${message}`);
  };
  const [same] = await order("command", "command");
  assert.match(same!, /^order.same-field It rewrites 'command' at PreToolUse:Bash, and so does pre-tool-use@Bash.0.ts/);
  assert.deepEqual(await order("command", "description"), []);
});

test("examples beside a hook are played, and one that does not hold is a fault", SLOW, async () => {
  const hook = `import { deny } from "crochet";
    export default ({ input }) => String(input.command).includes("--force") ? deny("No force") : undefined;
    export const examples = [
      { event: { tool_input: { command: "git push --force" } }, expect: deny(/force/) },
      { event: { tool_input: { command: "git push -f" } }, expect: "deny" },
    ];`.replace('from "crochet"', `from "${new URL("../../lib/index.ts", import.meta.url).pathname}"`);
  const findings = await found({ "pre-tool-use@Bash.no-force.ts": hook }, { laws: ["examples"] });
  assert.deepEqual(codes(findings), ["examples.differs"]);
  assert.match(findings[0]!.message, /example 2 .*Expected deny.* it had no objection/);
});

test("an example whose project cannot be made is a fault, and ends no check", SLOW, async () => {
  const findings = await found({
    "stop.sh": sh("exit 0"),
    "stop.examples.yaml": "- { name: broken, given: exit 3, expect: deny, fix: exit 4 }\n",
  });
  assert.deepEqual(codes(findings), ["examples.differs"]);
  assert.match(findings[0]!.message, /\(broken\): Cannot play the example as 'exit 3' ended with code 3$/);
});

test("laws throw where a hook breaks them, with the report, and give it back where it does not", SLOW, async () => {
  using folder = hookFiles({
    "stop.bad.sh": sh("echo more >&2", "exit 2"),
    "stop.good.sh": sh(`case "$event" in *'"stop_hook_active":true'*) exit 0;; esac`, "echo more >&2", "exit 2"),
  });
  const options = { runs: 3, rounds: 10, seed: 2 };
  await assert.rejects(laws.terminates(`${folder.path}/stop.bad.sh`, options), (error) => {
    assert.ok(error instanceof BrokenLaw);
    assert.match(error.message, /^stop\.bad\.sh is not terminating: .*refuted\n {2}round 1/);
    assert.equal(error.report.hooks[0]!.findings[0]!.law, "terminating");
    assert.match(error.stack!, /^BrokenLaw: [^]*\n +at [^\n]*check\.test\.ts:/);
    assert.doesNotMatch(error.stack!, /check-hook\.ts/);
    return true;
  });
  const { hooks } = await laws.all(`${folder.path}/stop.good.sh`, options);
  assert.equal(hooks[0]!.termination?.letsGo, "on stop_hook_active");
  await laws.total(`${folder.path}/stop.bad.sh`, options);
});

test("checkHook() never passes where there is no hook to check", async () => {
  using folder = hookFiles({ "src/README.md": "" });
  const { ok, problems } = await checkHook(`${folder.path}/src`);
  assert.deepEqual([ok, problems], [false, [`Cannot check '${folder.path}/src' as there is no hook in it`]]);
  await assert.rejects(laws.all(`${folder.path}/src`), BrokenLaw);
});

test("checkHook() refuses options that cannot be meant", async () => {
  using folder = hookFiles({ "notification.sh": sh("exit 0") });
  await assert.rejects(
    checkHook(folder.path, { runs: -1 }),
    /Cannot check as 'runs' must be a whole number of 0 or more: current value is -1/,
  );
  await assert.rejects(checkHook(folder.path, { run: 1 } as object), /option 'run' is unknown: did you mean 'runs'\?$/);
  await assert.rejects(checkHook(folder.path, { rounds: 1.5 }), /'rounds'/);
  await assert.rejects(checkHook(folder.path, { timeout: 0 }), /'timeout'/);
  await assert.rejects(checkHook(folder.path, { parallel: 0 }), /'parallel' must be a whole number of 1 or more/);
  await assert.rejects(checkHook(folder.path, { laws: [] }), /'laws' is empty: expected some of total, lawful/);
  await assert.rejects(
    checkHook(folder.path, { laws: ["terminates" as "total"] }),
    /'laws' has 'terminates': expected/,
  );
  await assert.rejects(
    checkHook(folder.path, { host: "cursor" as "claude" }),
    /'host' is '\w+': expected claude, codex, gemini/,
  );
});

test("a check leaves no scratch behind", SLOW, async () => {
  using folder = hookFiles({ "hooks/notification.sh": sh("exit 0"), "tmp/.keep": "" });
  await withEnv({ TMPDIR: `${folder.path}/tmp` }, () => checkHook(`${folder.path}/hooks`, { runs: 1 }));
  assert.deepEqual(readdirSync(`${folder.path}/tmp`), [".keep"]);
});
