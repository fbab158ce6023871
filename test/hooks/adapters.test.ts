import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import doctor from "../../lib/extensions/setup/doctor.ts";
import { install, uninstall } from "../../lib/cli/hooks/install.ts";
import { withEnv } from "../_env.ts";
import { place } from "../_place.ts";

const LAUNCHER = new URL("../../lib/cli/crochet", import.meta.url).pathname;

const FILES = { opencode: ".opencode/plugins/crochet.ts", pi: ".pi/extensions/crochet.ts" } as const;
type Host = keyof typeof FILES;

const HOOKS = {
  "hooks/pre-tool-use@Bash.10-guard.ts":
    `export default ({ input }) => /rm/.test(input.command) ? { action: "deny", reason: "no " + input.command } : undefined;`,
  "hooks/pre-tool-use@Bash.20-loud.ts":
    `export default ({ input }) => ({ action: "modify", value: { ...input, command: input.command + " -v" } });`,
  "hooks/pre-tool-use@Write.path.ts": `export default ({ input }) => ({ action: "deny", reason: input.file_path });`,
  "hooks/post-tool-use@Bash.note.ts":
    `export default ({ result }) => ({ action: "continue", context: "seen " + result.content });`,
  "hooks/user-prompt-submit.ts":
    `export default ({ prompt }) => prompt === "bad" ? { action: "deny", reason: "not this" } : { action: "continue", context: "be brief" };`,
  "hooks/stop.tested.ts":
    `export default (e) => /tested/.test(e.last_assistant_message) ? undefined : { action: "deny", reason: "test it" };`,
};

/** What a host's plugin does when the host fires its events, in words that both hosts share. */
interface Plugged {
  call(tool: string, args: Record<string, unknown>): Promise<{ args: Record<string, unknown>; refused?: string }>;
  result(tool: string, output: string): Promise<string>;
  prompt(text: string): Promise<{ text: string; refused: boolean }>;
  /** The words the agent is sent back with, after the model said this. */
  stop(said: string): Promise<string | undefined>;
  readonly warnings: string[];
}

let loads = 0;

/** Loads the written file as opencode does. */
async function opencode(file: string): Promise<Plugged> {
  const warnings: string[] = [];
  let sent: string | undefined;
  const client = {
    tui: { showToast: ({ body }: { body: { message: string } }) => Promise.resolve(warnings.push(body.message)) },
    session: {
      promptAsync: ({ body }: { body: { parts: { text: string }[] } }) => Promise.resolve(sent = body.parts[0]!.text),
    },
  };
  const exported = await import(`${file}?${loads++}`);
  assert.deepEqual(Object.keys(exported), ["Crochet"], "opencode takes whatever is exported for a plugin");
  const hooks = await exported.Crochet({ client });
  const about = (tool: string) => ({ tool, sessionID: `s${loads}`, callID: "c" });
  const message = async (text: string) => {
    const parts = [{ id: "p", type: "text", text }];
    await hooks["chat.message"]({ sessionID: `s${loads}` }, { parts });
    return parts.map((part) => part.text).join("\n");
  };
  return {
    warnings,
    call: async (tool, args) => {
      const refused = await hooks["tool.execute.before"](about(tool), { args }).then(() => undefined, (e: Error) => e);
      return { args, ...(refused && { refused: refused.message }) };
    },
    result: async (tool, output) => {
      const result = { output };
      await hooks["tool.execute.after"]({ ...about(tool), args: {} }, result);
      return result.output;
    },
    prompt: (text) => message(text).then((text) => ({ text, refused: false }), () => ({ text, refused: true })),
    stop: async (said) => {
      sent = undefined;
      await hooks["experimental.text.complete"]({ sessionID: `s${loads}` }, { text: said });
      await hooks.event({ event: { type: "session.idle", properties: { sessionID: `s${loads}` } } });
      // opencode fires this for what a plugin sends, too.
      if (sent !== undefined) assert.equal(await message(sent), sent);
      return sent;
    },
  };
}

/** Loads the written file as pi does. */
async function pi(file: string): Promise<Plugged> {
  const warnings: string[] = [];
  // deno-lint-ignore no-explicit-any
  const on: Record<string, (event: object, ctx: object) => Promise<any>> = {};
  const { default: extension } = await import(`${file}?${loads++}`);
  extension({ on: (event: string, handler: typeof on[string]) => on[event] = handler });
  const ctx = {
    hasUI: true,
    ui: { notify: (text: string) => warnings.push(text) },
    sessionManager: { getSessionId: () => `p${loads}` },
  };
  return {
    warnings,
    call: async (toolName, input) => {
      const answer = await on.tool_call!({ toolName, toolCallId: "c", input }, ctx);
      return { args: input, ...(answer?.block && { refused: answer.reason }) };
    },
    result: async (toolName, text) => {
      const content = [{ type: "text", text }];
      const answer = await on.tool_result!({ toolName, toolCallId: "c", input: {}, content, isError: false }, ctx);
      return (answer?.content ?? content).map((part: { text: string }) => part.text).join("\n");
    },
    prompt: async (text) => {
      const answer = await on.input!({ text, source: "interactive" }, ctx);
      return { text: answer?.text ?? text, refused: answer?.action === "handled" };
    },
    stop: async (said) => {
      await on.turn_end!({ message: { content: [{ type: "text", text: said }] } }, ctx);
      const answer = await on.agent_before_settle!({ outcome: "completed" }, ctx);
      return answer?.continue ? answer.entries[0].content : undefined;
    },
  };
}

const LOADERS = { opencode, pi };

/** A project with the plugin in it, moved after it was written, with crochet among its packages. */
async function plugged(host: Host) {
  const here = place(HOOKS);
  const done = await here.call(install.default, join(here.cwd, "hooks"), "--for", host);
  assert.equal(done.code, 0, done.err);
  const cwd = join(here.home, "a team's $project");
  renameSync(here.cwd, cwd);
  const bin = join(cwd, "node_modules/.bin");
  mkdirSync(bin, { recursive: true });
  symlinkSync(LAUNCHER, join(bin, "crochet"));
  const plugin = await LOADERS[host](join(cwd, FILES[host]));
  return { ...here, cwd, bin, plugin };
}

for (const host of ["opencode", "pi"] as const) {
  const path = host === "pi" ? "path" : "filePath";

  test(`the plugin for ${host} refuses, rewrites, adds context and sends back as the hooks say`, async () => {
    using p = await plugged(host);
    await withEnv({ HOME: p.home, CROCHET_HOME: undefined }, async () => {
      const { plugin } = p;
      assert.deepEqual(await plugin.call("bash", { command: "rm x" }), {
        args: { command: "rm x" },
        refused: "no rm x",
      });
      assert.deepEqual(await plugin.call("bash", { command: "ls" }), { args: { command: "ls -v" } });
      assert.equal((await plugin.call("write", { [path]: "a.txt", content: "" })).refused, "a.txt");
      assert.deepEqual(await plugin.call("read", { [path]: "a.txt" }), { args: { [path]: "a.txt" } });
      assert.equal(await plugin.result("bash", "out"), "out\nseen out");
      assert.deepEqual((await plugin.prompt("bad")).refused, true);
      assert.match((await plugin.prompt("good")).text, /^good\n+be brief$/);
      assert.equal(await plugin.stop("I tested it"), undefined);
      assert.deepEqual(plugin.warnings.filter((text) => text !== "not this"), []);
    });
  });

  test(`the plugin for ${host} lets the agent go after eight times, and counts anew after a prompt`, async () => {
    using p = await plugged(host);
    await withEnv({ HOME: p.home, CROCHET_HOME: undefined }, async () => {
      let times = 0;
      while (await p.plugin.stop("done") !== undefined && times < 20) times++;
      assert.equal(times, 8);
      assert.match(p.plugin.warnings.join(), /sent the agent back 8 times, so it may stop now/);
      await p.plugin.prompt("good");
      assert.equal(await p.plugin.stop("done"), "test it");
    });
  });

  test(`without crochet the plugin for ${host} refuses what is guarded and passes the rest with a warning`, async () => {
    using p = await plugged(host);
    rmSync(p.bin, { recursive: true });
    await withEnv({ HOME: p.home, PATH: "/nowhere" }, async () => {
      const { plugin } = p;
      const why = "crochet is not installed, so hooks/pre-tool-use@Bash.10-guard.ts cannot check this: npm install";
      assert.equal((await plugin.call("bash", { command: "ls" })).refused, why);
      assert.deepEqual(await plugin.call("read", { [path]: "a" }), { args: { [path]: "a" } });
      assert.deepEqual(plugin.warnings, [], "nothing is started for a tool that no hook is about");
      assert.equal((await plugin.prompt("good")).refused, true);
      plugin.warnings.length = 0;
      assert.equal(await plugin.result("bash", "out"), "out");
      assert.equal(await plugin.stop("done"), undefined);
      assert.deepEqual(plugin.warnings, [
        "crochet is not installed, so hooks/post-tool-use@Bash.note.ts did not run: npm install",
        "crochet is not installed, so hooks/stop.tested.ts did not run: npm install",
      ]);
    });
  });

  test(`installing for ${host} again replaces what is ours, and uninstalling leaves nothing`, async () => {
    using here = place({ ...HOOKS, "more/stop.more.ts": HOOKS["hooks/stop.tested.ts"] });
    const file = join(here.cwd, FILES[host]);
    const run = async (command: typeof install, folder: string) => {
      const { code, err } = await here.call(command.default, join(here.cwd, folder), "--for", host);
      assert.equal(code, 0, err);
      return existsSync(file) ? readFileSync(file, "utf8") : undefined;
    };
    const first = await run(install, "hooks");
    assert.equal(await run(install, "hooks"), first);
    rmSync(join(here.cwd, "hooks/stop.tested.ts"));
    const second = await run(install, "hooks");
    assert.doesNotMatch(second!, /stop\.tested/);
    assert.match((await run(install, "more"))!, /pre-tool-use@Bash[^]*more\/stop\.more/);
    assert.equal(await run(uninstall, "more"), second);
    assert.equal(await run(uninstall, "hooks"), undefined);
    assert.ok(!existsSync(join(here.cwd, FILES[host].split("/")[0]!)), "the folders made for it are gone");
  });

  test(`a plugin for ${host} that a person wrote is never overwritten`, async () => {
    using here = place({ ...HOOKS, [FILES[host]]: "export default () => {};\n" });
    for (const command of [install, uninstall]) {
      const { code, err } = await here.call(command.default, join(here.cwd, "hooks"), "--for", host);
      assert.equal(code, 1);
      assert.match(err, /crochet did not write it: rename it/);
    }
    assert.equal(readFileSync(join(here.cwd, FILES[host]), "utf8"), "export default () => {};\n");
  });

  test(`doctor sees a plugin for ${host} that serves files that are gone, or is of another version`, async () => {
    using here = place(HOOKS);
    await here.call(install.default, join(here.cwd, "hooks"), "--for", host);
    const looked = async () => (await here.call(doctor)).out.split("\n").filter((line) => line.includes("crochet.ts"));
    assert.match((await looked()).join(), new RegExp(`${host} can read it`));
    rmSync(join(here.cwd, "hooks/stop.tested.ts"));
    assert.match((await looked()).join(), /hooks\/stop\.tested\.ts, which is gone/);
    writeFileSync(join(here.cwd, FILES[host]), readFileSync(join(here.cwd, FILES[host]), "utf8") + "// older\n");
    assert.match((await looked()).join(), /not what this version of crochet writes/);
  });
}

test("a guard of a tool of an MCP server is refused by name, as plugins are not told the server", async () => {
  using here = place({ "hooks/pre-tool-use@mcp__db__drop.x.ts": "export default () => {};" });
  for (const host of ["opencode", "pi"]) {
    const { code, err } = await here.call(install.default, join(here.cwd, "hooks"), "--for", host);
    assert.equal(code, 1);
    assert.match(err, /mcp__db__drop\.x\.ts: \w+ does not say which server a tool such as mcp__db__drop is of/);
  }
});

/** Hook files that each host has no event for, and what installing says. */
const UNMAPPABLE: [host: string, file: string, code: number][] = [
  ["opencode", "permission-request.x.ts", 1],
  ["pi", "permission-request.x.ts", 1],
  ["gemini", "permission-request.x.ts", 1],
  ["cursor", "permission-request.x.ts", 1],
  ["qwen", "cwd-changed.x.ts", 0],
  ["qwen", "post-model-switch.x.ts", 0],
  ["copilot", "iteration.x.ts", 0],
  ["cursor", "iteration.x.ts", 0],
  ["gemini", "pre-compact.x.ts", 0],
  ["codex", "post-tool-use-failure.x.ts", 0],
  ["opencode", "post-tool-use-failure.x.ts", 0],
  ["pi", "subagent-stop.x.ts", 0],
];

for (const [host, file, code] of UNMAPPABLE) {
  test(`${file} is left out by name for ${host}, ${code === 1 ? "and a guard stops the install" : "and the rest is installed"}`, async () => {
    using here = place({
      "hooks/stop.x.ts": "export default () => {};",
      [`hooks/${file}`]: "export default () => {};",
    });
    const before = await here.call(install.default, join(here.cwd, "hooks"), "--for", host);
    assert.equal(before.code, code, before.err);
    const why = `${file}: ${host} has no event like ${file.split(".")[0]}`;
    assert.ok((before.out + before.err).includes(why), before.out + before.err);
    if (code === 1) assert.match(before.err, /a guard would be left out/);
    rmSync(join(here.cwd, "hooks/stop.x.ts"));
    const alone = await here.call(install.default, join(here.cwd, "hooks"), "--for", host);
    assert.equal(alone.code, 1, "nothing would be left");
  });
}
