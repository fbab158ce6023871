/** Once, as only Bun bundles hooks. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import doctor from "../../lib/extensions/setup/doctor.ts";
import { install, uninstall } from "../../lib/cli/hooks/install.ts";
import { flat, inputOf } from "../../lib/hooks/mod/runtime.ts";
import { rounds } from "../_counts.ts";
import { place } from "../_place.ts";
import { installMod, loadMod } from "./_mod.ts";
import { SHIPPED } from "./shipped/_shipped.ts";

const AS_MOD = ["--for", "claude", "--as", "mod"];

/** A mod of these hooks, in a host that is a table. */
async function modOf(here: ReturnType<typeof place>, hooks: Record<string, string>, ...more: string[]) {
  here.put(Object.fromEntries(Object.entries(hooks).map(([name, text]) => [`hooks/${name}`, text])));
  const mod = await installMod(here, ...more);
  return await loadMod(mod, here.cwd);
}

/** Does whatever the input of the call says. */
const OBEYS = `export default async ({ input }, ctx) => {
  if (input.says) ctx.addContext(input.says);
  if (input.throws) throw new Error(input.throws);
  return input.verdict;
};`;

test("a mod always does with a call what its hook says of it", async () => {
  using here = place();
  const claude = await modOf(here, { "pre-tool-use@Bash.obeys.ts": OBEYS });
  const verdict = fc.oneof(
    fc.constant(undefined),
    fc.record({ action: fc.constantFrom("continue", "allow") }),
    fc.record({ action: fc.constantFrom("deny", "ask"), reason: fc.constantFrom("R1", "R2") }),
    fc.record({ action: fc.constant("modify"), value: fc.record({ command: fc.string(), tool: fc.string() }) }),
    fc.constantFrom({ action: "halt", reason: "OVER" }, { action: "nonsense" }, 5),
  );
  const seen = new Map<string, number>();
  const asked = fc.record({
    verdict,
    throws: fc.option(fc.constant("BOOM"), { nil: undefined, freq: 4 }),
    says: fc.option(fc.constant("SAID"), { nil: undefined }),
    rule: fc.constantFrom("allow", "ask", "deny"),
  });
  await fc.assert(
    fc.asyncProperty(asked, async ({ verdict, throws, says, rule }) => {
      const input = { command: "ls", verdict, throws, says };
      const { answer, ran } = await claude.call("Bash", input, { rule });
      const action = throws
        ? "throws"
        : typeof verdict === "object"
        ? verdict.action
        : verdict === 5
        ? "nonsense"
        : "continue";
      seen.set(action, (seen.get(action) ?? 0) + 1);
      const reason = (verdict as { reason?: string })?.reason;
      const beside = says ? "\nSAID" : "";
      switch (action) {
        case "throws":
        case "nonsense":
          assert.equal(ran, undefined);
          assert.match(answer.deny, /^Hook pre-tool-use@Bash\.obeys\.ts failed, so this is refused: /);
          break;
        case "deny":
          assert.deepEqual(answer, { deny: reason + beside });
          break;
        case "halt":
          assert.deepEqual(answer, { deny: "OVER" });
          break;
        default: {
          const runs = action === "allow" ? rule !== "deny" : action === "ask" ? false : rule === "allow";
          assert.equal(ran !== undefined, runs, `${action} ${rule}`);
          if (action === "ask" && rule !== "deny") assert.match(answer.text, /R[12]/);
          if (runs) assert.deepEqual(ran, action === "modify" ? (verdict as { value: object }).value : input);
          assert.deepEqual(answer.context, says ? ["SAID"] : undefined);
        }
      }
    }),
    { numRuns: rounds(120, 2000) },
  );
  assert.ok(seen.size >= 7, [...seen.keys()].join());
});

test("inputOf() is always the inverse of flat(), whatever the names of the fields", () => {
  const name = fc.constantFrom("tool", "tool_use_id", "agentId", "requestMeta", "consent", "$shadowed", "a", "b");
  const e = { tool: "mcp__s__echo", tool_use_id: "t1", agentId: "a1", old: 1 };
  fc.assert(
    fc.property(fc.dictionary(name, fc.jsonValue()), (input) => {
      const event = flat(e, input);
      assert.deepEqual({ ...inputOf(event) }, { ...input });
      assert.deepEqual([event.tool, event.tool_use_id, event.agentId], ["mcp__s__echo", "t1", "a1"]);
    }),
    { numRuns: rounds(60, 5000, 200) },
  );
});

test("what a hook says after a call never hides the result, and can replace it", async () => {
  using here = place();
  const claude = await modOf(here, {
    "post-tool-use@Bash.obeys.ts": OBEYS,
    "post-tool-use-failure@Bash.says.ts": `export default (e, ctx) => ctx.addContext("FAILED " + e.error);`,
  });
  const after = async (input: object, result?: unknown) => (await claude.call("Bash", input, { result })).answer;
  const RAN = { stdout: "RAN", stderr: "" };
  assert.deepEqual(await after({}, RAN), { result: RAN });
  assert.deepEqual(await after({ verdict: { action: "deny", reason: "R" } }, RAN), { result: RAN, context: ["R"] });
  assert.deepEqual(await after({ verdict: { action: "modify", value: "NEW" } }, RAN), {
    result: { stdout: "NEW", stderr: "" },
  });
  assert.deepEqual(await after({ throws: "BOOM" }, RAN), { result: RAN }, "it is no guard");
  assert.ok(claude.logged.some((line) => line.includes("BOOM")), "but it is logged");
  assert.deepEqual(await after({}, "exit 3"), { isError: true, text: "exit 3", context: ["FAILED exit 3"] });
  assert.deepEqual((await after({ verdict: { action: "halt", reason: "OVER" } }, RAN)).result, RAN);
  assert.equal(claude.aborted.length, 1);
});

test("prompts are dropped, rewritten and added to; a session begins once, in whatever way the host says so", async () => {
  using here = place();
  const hooks = {
    "user-prompt-submit.obeys.ts":
      `export default ({ prompt }, ctx) => prompt.startsWith("no") ? { action: "deny", reason: "NO" } : prompt.startsWith("new") ? { action: "modify", value: "NEW" } : ctx.addContext("CTX");`,
    "session-start.says.ts": `export default (e, ctx) => ctx.addContext("START " + e.source);`,
  };
  const claude = await modOf(here, hooks);
  const submit = (text: string, more = {}) => claude.fire("prompt.submit", { text, ...more }, (e) => e);
  assert.deepEqual(await submit("a"), { text: "a", context: ["START startup", "CTX"] });
  assert.deepEqual(await submit("no"), { drop: "NO" });
  assert.deepEqual(await submit("new"), { text: "NEW" });
  assert.deepEqual(await submit("new", { command: "/x" }), { text: "new", command: "/x" });
  const mod = join(here.home, "crochet-hooks");
  const heard = await loadMod(mod, here.cwd);
  const start = { hook_event_name: "SessionStart", session_id: "s1", cwd: here.cwd, source: "resume" };
  assert.deepEqual(await heard.fire("classic.SessionStart", start), { additionalContext: ["START resume"] });
  assert.deepEqual(await heard.fire("prompt.submit", { text: "a" }, (e) => e), { text: "a", context: ["CTX"] });
});

test("a Stop hook sends back by the host's own event, and where that does not come at most eight times", async () => {
  using here = place();
  const claude = await modOf(here, { "stop.never.ts": `export default () => ({ action: "deny", reason: "BACK" });` });
  const done = { reason: "answer", answer: "done" };
  for (let i = 0; i < 9; i++) await claude.fire("turn.complete", done);
  assert.deepEqual(claude.submitted, Array(8).fill("BACK"));
  await claude.fire("turn.complete", { ...done, agentId: "sub" });
  await claude.fire("turn.complete", { ...done, reason: "interrupted" });
  assert.equal(claude.submitted.length, 8);
  const stop = { hook_event_name: "Stop", session_id: "s1", cwd: here.cwd, stop_hook_active: false };
  assert.deepEqual(await claude.fire("classic.Stop", stop), { block: "BACK" });
  await claude.fire("turn.complete", done);
  assert.equal(claude.submitted.length, 8, "the host's event has spoken");
});

test("every kind of hook runs in a mod: rules, prompts, modules and commands", async () => {
  using here = place();
  here.put({
    "hooks/pre-tool-use@Bash.c.sh":
      '#!/bin/sh\ngrep -q SH && { echo "SH-NO $CLAUDE_PROJECT_DIR" >&2; exit 2; }\nexit 0\n',
  });
  chmodSync(join(here.cwd, "hooks/pre-tool-use@Bash.c.sh"), 0o755);
  const claude = await modOf(
    here,
    {
      "pre-tool-use@Bash.a.rules": `args.command contains "RULE" -> deny("RULE-NO")`,
      "pre-tool-use@Bash.b.prompt.md": "---\nonError: deny\n---\nIs this bad? {{args.command}}",
      "pre-tool-use@Bash.e.ts":
        `export default ({ input }) => input.command === "TS" ? { action: "deny", reason: "TS-NO" } : undefined;`,
    },
  );
  const refused = async (command: string) => (await claude.call("Bash", { command })).answer.deny;
  assert.equal(await refused("ls"), undefined);
  assert.equal(await refused("RULE"), "RULE-NO");
  assert.equal(await refused("BAD"), "MODEL-NO");
  assert.match(await refused("SH"), new RegExp(`^SH-NO ${here.cwd}`));
  assert.equal(await refused("TS"), "TS-NO");
  const mod = join(here.home, "crochet-hooks");
  assert.deepEqual(readdirSync(join(mod, "crochet")), ["pre-tool-use@Bash.c.sh"]);
});

test("each hook of a mod sees the call as the hooks before it have left it, a command too", async () => {
  using here = place();
  const claude = await modOf(here, {
    "10-pre-tool-use@Bash.a.ts":
      `export default ({ input }) => ({ action: "modify", value: { ...input, command: input.command + " -x" } });`,
    "20-pre-tool-use@Bash.b.sh": `grep -q '"command":"rm -x"' && { echo SAW >&2; exit 2; }; exit 0`,
  });
  assert.deepEqual((await claude.call("Bash", { command: "rm" })).answer, { deny: "SAW" });
  assert.deepEqual((await claude.call("Bash", { command: "ls" })).ran, { command: "ls -x" });
});

test("ctx.files, ctx.$ and ctx.values of a mod are the host's, and a link is refused", async () => {
  using here = place({ "a.txt": "A" });
  symlinkSync("a.txt", join(here.cwd, "link.txt"));
  const claude = await modOf(here, {
    "pre-tool-use@Bash.tries.ts": `export default async ({ input }, { files, $, values, cwd }) => {
      values.set("n", (values.get("n") ?? 0) + 1);
      await files.write("made/b.txt", "B");
      const said = [await files.read("a.txt"), await files.read("none"), await files.list("made"), values.get("n")];
      const { stdout } = await $("cat", ["a.txt"]);
      return { action: "deny", reason: JSON.stringify([...said, stdout, await files.realPath(input.command) === cwd + "/" + input.command]) };
    };`,
  });
  assert.deepEqual((await claude.call("Bash", { command: "a.txt" })).answer, {
    deny: `["A",null,["b.txt"],1,"A",true]`,
  });
  assert.deepEqual((await claude.call("Bash", { command: "new/c" })).answer, {
    deny: `["A",null,["b.txt"],2,"A",true]`,
  });
  const { deny } = (await claude.call("Bash", { command: "link.txt" })).answer;
  assert.match(deny, /failed, so this is refused: Cannot follow the link '.*link\.txt' as a mod has no real paths/);
});

test("a permission hook answers for the person where the rules would ask, and only there", async () => {
  using here = place();
  const obeys = `export default ({ input }) => input.says;`;
  const claude = await modOf(here, { "permission-request@Bash.obeys.ts": obeys });
  const asked = async (says: unknown, rule: string) => await claude.call("Bash", { says }, { rule });
  assert.ok((await asked({ action: "allow" }, "ask")).ran);
  assert.equal((await asked({ action: "allow" }, "deny")).ran, undefined);
  assert.equal((await asked(undefined, "ask")).ran, undefined);
  const refused = await asked({ action: "deny", reason: "R" }, "ask");
  assert.deepEqual([refused.ran, refused.answer.text], [undefined, "Permission denied: R"]);
  assert.ok((await asked({ action: "deny", reason: "R" }, "allow")).ran, "it was not asked");
  assert.equal((await asked({ action: "halt", reason: "OVER" }, "ask")).answer.text, "Permission denied: OVER");
  assert.equal(claude.aborted.length, 1);
});

test("what stands below a mod is passed on: a refusal by others, and a summary that is only prepared", async () => {
  using here = place();
  const claude = await modOf(here, {
    "post-tool-use.says.ts": `export default (_, ctx) => ctx.addContext("AFTER");`,
    "post-tool-use-failure.says.ts": `export default (_, ctx) => ctx.addContext("AFTER");`,
    "pre-compact.no.ts": `export default () => ({ action: "deny", reason: "NO" });`,
  });
  const e = { tool: "Bash", tool_use_id: "t" };
  assert.deepEqual(await claude.fire("tool.call", e, () => ({ deny: "BELOW" })), { deny: "BELOW" });
  assert.deepEqual(await claude.fire("session.compact", { trigger: "auto" }), { skip: "NO" });
  assert.deepEqual(await claude.fire("session.compact", { trigger: "precompute" }, () => ({ did: 1 })), { did: 1 });
});

test("a guard that cannot be started refuses; another command is only logged", async () => {
  using here = place();
  const claude = await modOf(here, {
    "pre-tool-use@Bash.g.sh": "#!/no/such/sh\n",
    "post-tool-use@Read.p.sh": "#!/no/such/sh\n",
  });
  const { answer: { deny } } = await claude.call("Bash", { command: "ls" });
  assert.match(deny, /^Hook pre-tool-use@Bash\.g\.sh failed, so this is refused: .*failed to start/);
  assert.ok((await claude.call("Read", {})).ran);
  assert.ok(claude.logged.some((line) => /post-tool-use@Read\.p\.sh failed/.test(line)), claude.logged.join());
});

test("what a guard's handler cannot do refuses, and what is no guard passes", async () => {
  using here = place();
  const claude = await modOf(here, {
    "pre-tool-use@Bash.g.ts": "export default () => {};",
    "permission-request.g.ts": "export default () => {};",
    "user-prompt-submit.g.ts": "export default () => {};",
    "stop.s.ts": "export default () => {};",
  });
  const broken = Object.assign(async () => ({ below: true }), { error: { kind: "timeout" } });
  const caught = (on: string, more = {}) =>
    claude.catches.get(on)!({}, {}, Object.assign(broken, { called: false }, more) as never);
  const why = "A hook of crochet-hooks failed, so this is refused: timeout";
  assert.deepEqual(await caught("tool.call"), { deny: why });
  assert.deepEqual(await caught("tool.check"), { decision: "deny", reason: why });
  assert.deepEqual(await caught("prompt.submit"), { drop: why });
  assert.deepEqual(await caught("tool.call", { called: true }), { below: true }, "the tool has run");
  for (const on of ["session.start", "turn.start", "classic.Stop", "turn.complete"]) {
    assert.deepEqual(await caught(on), { below: true }, on);
  }
  rmSync(join(here.cwd, "hooks/permission-request.g.ts"));
  const pre = (await modOf(here, {})).catches.get("tool.check")!;
  const { decision } = await pre({}, {}, Object.assign(broken, { called: false }) as never);
  assert.equal(decision, "deny", "a hook before the call may have asked for a person");
  const missing = await loadMod(join(here.home, "crochet-hooks"), here.cwd, () => {
    throw new Error("no session");
  });
  assert.match((await missing.call("Bash", { command: "ls" })).answer.deny, /refused: no session/);
});

test("the belt of a guard with an expression is asked about the tools of the host that are ours under another name", async () => {
  using here = place();
  await modOf(here, { "pre-tool-use.g.ts": `export const config = { matcher: "^Edit$" };\nexport default () => {};` });
  const { hooks: belt } = JSON.parse(readFileSync(join(here.home, "crochet-hooks/hooks/hooks.json"), "utf8"));
  assert.equal(belt.PreToolUse[0].matcher, "^Edit$|NotebookEdit");
});

test("the belt refuses every guarded event unless the mod is loaded in that very session", async () => {
  using here = place();
  const hooks = {
    "pre-tool-use@Bash+Edit.g.ts": "export default () => {};",
    "user-prompt-submit.g.ts": "export default () => {};",
  };
  const claude = await modOf(here, hooks);
  const { hooks: belt } = JSON.parse(readFileSync(join(here.home, "crochet-hooks/hooks/hooks.json"), "utf8"));
  assert.deepEqual(Object.keys(belt), ["PreToolUse", "UserPromptSubmit"]);
  assert.equal(belt.PreToolUse[0].matcher, "Bash|Edit|NotebookEdit");
  await claude.fire("session.start", {});
  const [[variable]] = [...claude.env] as [[string, string]];
  assert.deepEqual([...claude.env.values()], ["s1"]);
  const asked = (event: string, value: string | undefined, session = "s1") => {
    const input = JSON.stringify({ session_id: session, hook_event_name: event, tool_input: { command: "it's" } });
    const env = { ...process.env, [variable]: value };
    return spawnSync("/bin/sh", ["-c", belt[event][0].hooks[0].command], { input, env, encoding: "utf8" }).stdout;
  };
  for (const event of ["PreToolUse", "UserPromptSubmit"]) {
    assert.equal(asked(event, "s1"), "");
    for (const value of [undefined, "", "s2", "*", "s1*"]) {
      assert.match(asked(event, value), /The mod crochet-hooks is not loaded, so its guards refuse this/, `${value}`);
    }
  }
  assert.match(asked("PreToolUse", undefined), /"permissionDecision":"deny"/);
  assert.match(asked("UserPromptSubmit", undefined), /"decision":"block"/);
  const bare = await modOf(here, {}, "--no-belt");
  await bare.fire("prompt.submit", { text: "a" });
  assert.equal(bare.env.size, 0);
  assert.doesNotMatch(readFileSync(join(here.home, "crochet-hooks/hooks/hooks.json"), "utf8"), /CROCHET_MOD/);
});

const SAME = "or install it without --as mod";
const REFUSED: readonly (readonly [what: string, text: string, why: string])[] = [
  [
    "imports a builtin",
    `import { readFileSync } from "node:fs";\nexport default () => readFileSync("x");`,
    `it imports node:fs: use ctx.files and ctx.$, ${SAME}`,
  ],
  [
    "imports one where it is used",
    `export default async () => { const { join } = await import("path"); join("a"); };`,
    `it imports path: use ctx.files and ctx.$, ${SAME}`,
  ],
  [
    "uses process",
    `export default () => { process.cwd(); };`,
    `it uses process, which a mod does not have: use ctx.files and ctx.$, ${SAME}`,
  ],
  [
    "uses fetch",
    `export default () => fetch("x");`,
    `it uses fetch, which a mod does not have: use ctx.files and ctx.$, ${SAME}`,
  ],
  [
    "imports at run time",
    `\nexport default ({ input }) => import(input.command);`,
    `it imports at run time (line 2): write an import declaration, ${SAME}`,
  ],
  [
    "sets isolate",
    `export default () => {};\nexport const config = { isolate: true };`,
    "it sets isolate: install it without --as mod",
  ],
  ["imports what is not there", `import x from "no-such-package";\nexport default () => x;`, ""],
];

for (const [what, text, why] of REFUSED) {
  test(`no mod is made of a guard that ${what}, and nothing is written`, async () => {
    using here = place({ "hooks/pre-tool-use@Bash.g.ts": text, "hooks/stop.s.ts": "export default () => {};" });
    const { code, err } = await here.call(install.default, join(here.cwd, "hooks"), ...AS_MOD);
    assert.equal(code, 1);
    assert.ok(
      err.includes(why === "" ? "no-such-package" : `Cannot make a mod of 'hooks/pre-tool-use@Bash.g.ts' as ${why}`),
      err,
    );
    assert.ok(!existsSync(join(here.cwd, ".claude")));
  });
}

test("what a hook does not use, or only names, does not keep it out of a mod; other hooks are left out and named", async () => {
  using here = place({
    "hooks/_shared.ts":
      `import { readFileSync } from "node:fs";\nexport const WORD = "process.env, fetch() and import('x')";\nexport const unused = () => readFileSync("x");`,
    "hooks/pre-tool-use@Bash.g.ts":
      `import { deny } from "crochet";\nimport { WORD } from "./_shared.ts";\nexport default () => deny(WORD);`,
    "hooks/stop.s.ts": `export default () => { process.exit(); };`,
    "hooks/iteration.i.ts": "export default () => {};",
    "hooks/notification.n.ts": "export default () => {};",
    "node_modules/.keep": "",
  });
  symlinkSync(dirname(SHIPPED), join(here.cwd, "node_modules/crochet"));
  const { code, out, err } = await here.call(install.default, join(here.cwd, "hooks"), ...AS_MOD);
  assert.equal(code, 0, err);
  assert.match(out, /left out stop\.s\.ts: it uses process, which a mod does not have/);
  assert.match(out, /left out iteration\.i\.ts: a mod has no event like iteration/);
  assert.match(out, /hooks\/notification\.n\.ts does not run where Claude Code has managed settings/);
  assert.match(out, /package\.json has no "license", which the plugin directory asks for/);
  const claude = await loadMod(join(here.cwd, ".claude/skills/hooks"), here.cwd);
  assert.deepEqual((await claude.call("Bash", {})).answer, { deny: "process.env, fetch() and import('x')" });
  assert.deepEqual(claude.handlers.get("tool.call")!.matcher, { tool: ["Bash"] });
  assert.ok(!claude.handlers.has("classic.Stop"));
});

test("all hooks that are shipped run in a mod without a runtime", async () => {
  using here = place();
  const { code, out, err } = await here.call(
    install.default,
    SHIPPED,
    ...AS_MOD,
    "--to",
    join(here.home, "m"),
    "--json",
  );
  assert.equal(code, 0, err);
  assert.deepEqual(JSON.parse(out).left, []);
  const written = readFileSync(join(here.home, "m/hooks/crochet.js"), "utf8");
  assert.doesNotMatch(written, /node:|CROCHET_(?:MISSING|BUILTIN)|\/lib\/hooks\//);
});

test("a mod is installed again in the place of a plugin, and uninstalled to the last file", async () => {
  using here = place({
    "hooks/pre-tool-use@Bash.g.ts": "export default () => {};",
    "LICENSE": "MIT words",
    "package.json": `{"license":"MIT","author":"A <a@b.c>","version":"1.2.3"}`,
  });
  const call = async (command: typeof install, form: string, ...more: string[]) => {
    const args = ["--for", "claude", "--as", form, ...more];
    const { code, err, out } = await here.call(command.default, join(here.cwd, "hooks"), ...args);
    assert.equal(code, 0, err);
    return out;
  };
  const dry = await call(install, "mod", "--dry-run");
  assert.match(
    dry,
    /PreToolUse Bash: pre-tool-use@Bash\.g\.ts\n(?: {2}no hook of claude sees .*\n){2}.*would be written/,
  );
  assert.ok(!existsSync(join(here.cwd, ".claude")));
  const mod = join(here.cwd, ".claude/skills/hooks");
  const files = () =>
    readdirSync(mod, { recursive: true, withFileTypes: true }).filter((f) => f.isFile()).map((f) =>
      join(f.parentPath, f.name).slice(mod.length + 1)
    ).sort();
  await call(install, "plugin");
  const COMMON = [".claude-plugin/plugin.json", "LICENSE", "README.md"];
  assert.deepEqual(files(), [...COMMON, "crochet/pre-tool-use@Bash.g.ts", "hooks/hooks.json"]);
  await call(install, "mod");
  assert.deepEqual(files(), [...COMMON, "hooks/crochet.js", "hooks/hooks.json", "hooks/register.js"]);
  const manifest = JSON.parse(readFileSync(join(mod, ".claude-plugin/plugin.json"), "utf8"));
  assert.deepEqual(manifest, {
    name: "hooks",
    version: "1.2.3",
    description: "Hooks of project, which run inside Claude Code",
    author: { name: "A", email: "a@b.c" },
    license: "MIT",
  });
  await call(uninstall, "mod");
  assert.ok(!existsSync(join(here.cwd, ".claude")));
  await call(install, "mod", "--scope", "user");
  assert.ok(existsSync(join(here.home, ".claude/skills/hooks/hooks/register.js")));
  await call(uninstall, "mod", "--scope", "user");
  assert.ok(!existsSync(join(here.home, ".claude/skills/hooks")));
});

test("doctor says whether the Claude Code that is here loads the mods of a project", async () => {
  using here = place({ "hooks/pre-tool-use@Bash.g.ts": "export default () => {};" });
  await here.call(install.default, join(here.cwd, "hooks"), ...AS_MOD);
  for (
    const [version, why] of [["2.1.9", /2\.1\.9 loads no mods, so its guards refuse everything/], [
      "2.2.0",
      /2\.2\.0 loads mods/,
    ]] as const
  ) {
    here.put({ "bin/claude": `#!/bin/sh\necho '${version} (Claude Code)'\n` });
    chmodSync(join(here.cwd, "bin/claude"), 0o755);
    here.env.PATH = `${here.cwd}/bin:${process.env.PATH}`;
    const { out } = await here.call(doctor);
    assert.match(out, why);
  }
});
