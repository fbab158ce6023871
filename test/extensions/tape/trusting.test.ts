import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { fixtureAt } from "../../../lib/replay/fixture.ts";
import { recordCommand, replayCommand } from "../../../lib/extensions/tape/run-command.ts";
import { RUNTIME } from "../../_runtime.ts";
import { put, scratch } from "../../_scratch.ts";
import { serve } from "../../_server.ts";

/** A client that prints what it was trusted with. */
const CLIENT = `
const { CLAUDE_CODE_SANDBOXED: claude, GEMINI_CLI_TRUST_WORKSPACE: gemini, CLIENT } = process.env;
const headers = { "user-agent": CLIENT };
await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", headers, body: "{}" });
console.log(JSON.stringify({ claude, gemini, args: process.argv.slice(2) }));
`;

const ALLOW = { permissions: { allow: ["Bash(make)"], deny: ["Bash(rm)"] }, hooks: {} };

/** A project with a `claude` on the path, and a home with settings of clients; `{HERE}` is the project. */
async function recorded(home: Readonly<Record<string, object>>, client = "claude-cli/2.1.0") {
  const folder = scratch();
  const cwd = join(folder.path, "a", "project");
  mkdirSync(cwd, { recursive: true });
  const settings = Object.entries(home).map(([path, value]) => [
    `home/${path}`,
    JSON.stringify(value).replaceAll("{HERE}", cwd).replaceAll("{ABOVE}", join(folder.path, "a")),
  ]);
  const run = [...RUNTIME, join(cwd, "client.mjs")].map((word) => `'${word}'`).join(" ");
  put(folder.path, { ...Object.fromEntries(settings), "bin/claude": `#!/bin/sh\nexec ${run} "$@"\n` });
  chmodSync(join(folder.path, "bin/claude"), 0o755);
  put(cwd, { "client.mjs": CLIENT, ".claude/settings.json": JSON.stringify(ALLOW) });
  const { GEMINI_CLI_TRUST_WORKSPACE: _, CLAUDE_CODE_SANDBOXED: __, CLAUDE_CONFIG_DIR: ___, ...rest } = process.env;
  const env = {
    ...{ ...rest, HOME: join(folder.path, "home"), CLIENT: client },
    PATH: `${join(folder.path, "bin")}${delimiter}${process.env.PATH}`,
  };
  mkdirSync(env.HOME, { recursive: true });
  const fixture = () => fixtureAt(join(cwd, "fixtures", "one"));
  const asked = { command: ["claude", "-p"], cwd, quiet: true };
  using api = await serve((_, response) => response.end("{}"));
  const record = (url: string, more: object = {}) =>
    recordCommand(fixture(), { ...asked, ...more, env: { ...env, ANTHROPIC_BASE_URL: url } });
  const { end } = await record(api.url);
  return {
    home: env.HOME,
    said: JSON.parse(end.stdout),
    replay: async (here = false) => {
      if (here) {
        using api = await serve((_, response) => response.end("{}"));
        await record(api.url, { keeps: "nothing", replace: true });
      }
      const { report, end } = await replayCommand(fixture(), { ...asked, env });
      return { ...JSON.parse(end.stdout), notes: report.notes.filter((note) => note.startsWith("Claude Code")) };
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

const UNTRUSTED = "Claude Code does not trust this directory here: if it did where this was recorded, that differs";
const accepted = (folder: string) => ({
  ".claude.json": { projects: { [folder]: { hasTrustDialogAccepted: true } } },
});

test("no recording and no replay trusts a directory for another program, unless the person does", async () => {
  using here = await recorded({ ".claude.json": { projects: { "{HERE}": { hasTrustDialogAccepted: false } } } });
  assert.deepEqual(here.said, { args: ["-p"] });
  assert.deepEqual(await here.replay(), { args: ["-p"], notes: [UNTRUSTED] });
  assert.deepEqual(await here.replay(true), { args: ["-p"], notes: [] });
  using gemini = await recorded({ ".gemini/trustedFolders.json": { "/elsewhere": "TRUST_FOLDER" } }, "GeminiCLI/1");
  assert.deepEqual([gemini.said, await gemini.replay()], [{ args: ["-p"] }, { args: ["-p"], notes: [] }]);
});

test("the copy of a directory that the person trusts Claude Code with has that trust, by no settings of its own", async () => {
  for (const folder of ["{HERE}", "{ABOVE}"]) {
    using here = await recorded(accepted(folder));
    const before = readFileSync(join(here.home, ".claude.json"), "utf8");
    assert.deepEqual(here.said, { args: ["-p"] }, "it works in the directory itself");
    const { args, ...rest } = await here.replay();
    assert.deepEqual(rest, { claude: "1", notes: [] });
    assert.deepEqual(args.slice(1), [
      JSON.stringify({ permissions: { allow: ["Bash(make)"], additionalDirectories: [] } }),
      "-p",
    ]);
    assert.deepEqual(await here.replay(true), { args: ["-p"], notes: [] });
    assert.deepEqual([readFileSync(join(here.home, ".claude.json"), "utf8"), readdirSync(here.home).sort()], [before, [
      ".claude.json",
      ".crochet",
    ]]);
  }
});

test("the copy has the trust of Gemini CLI if the rule of the longest path gives it", async () => {
  const rules: [rules: object, gemini: string | undefined][] = [
    [{ "{HERE}": "TRUST_FOLDER" }, "true"],
    [{ "{ABOVE}": "TRUST_FOLDER" }, "true"],
    [{ "{ABOVE}/other": "TRUST_PARENT" }, "true"],
    [{ "{HERE}": "DO_NOT_TRUST", "{ABOVE}": "TRUST_FOLDER" }, undefined],
    [{ "{HERE}": "TRUST_FOLDER", "{ABOVE}": "DO_NOT_TRUST" }, "true"],
    [{ "{HERE}-too": "TRUST_FOLDER" }, undefined],
  ];
  for (const [rule, gemini] of rules) {
    using here = await recorded({ ".gemini/trustedFolders.json": rule });
    assert.deepEqual([here.said.gemini, (await here.replay()).gemini], [undefined, gemini], JSON.stringify(rule));
  }
});
