import assert from "node:assert/strict";
import { test } from "node:test";
import { claudeCall, served, shipped } from "./_shipped.ts";

const NAME = "pre-tool-use@Edit+Write.protect-paths.ts";

const DENIED = [
  "/p/.env",
  "/p/.env.local",
  ".env",
  "/p/certs/server.pem",
  "/home/me/.ssh/id_rsa",
  "/p/.git/config",
  "/p/node_modules/x/index.js",
  "/p/package-lock.json",
  "/p/bun.lock",
  "/p/Cargo.lock",
  "/p/.claude/settings.json",
  "/p/.claude/settings.local.json",
  "/p/.agent/hook.toml",
  "/p/.codex/hooks.json",
  "/p/hooks/pre-tool-use@Bash.guard.rules.yaml",
  "/p/.claude/hooks/guard.sh",
  "/p/.crochet/config.yaml",
  "/p/hooks.yaml",
  "/p/.mcp.json",
  "/p/src/../.env",
  "/p/src/./../node_modules/x.js",
];
const FINE = [
  "/p/.env.example",
  "/p/src/env.ts",
  "/p/src/key.ts",
  "/p/.github/workflows/ci.yml",
  "/p/.gitignore",
  "/p/package.json",
  "/p/hooks/README.md",
  "/p/src/hooks/use-state.ts",
  "/p/docs/stop.md",
];

test("protect-paths refuses each protected path by any spelling, and lets the rest be written", async () => {
  const { call } = await shipped(NAME, "/p");
  const of = async (file_path: string) => (await call("Write", { file_path, content: "" })).decision;
  for (const path of DENIED) assert.equal(await of(path), "deny", path);
  const edits = [{ old_string: "a", new_string: "b" }];
  assert.equal((await call("MultiEdit", { file_path: "/p/.env", edits })).decision, "deny");
  for (const path of FINE) assert.equal(await of(path), "continue", path);
});

test("protect-paths sees every file of a patch of Codex", async () => {
  const command = "*** Begin Patch\n*** Update File: src/a.ts\n*** Add File: .env\n+X=1\n*** End Patch";
  const input = { ...claudeCall("apply_patch", { command }), turn_id: "t", model: "m" };
  const { output } = await served(NAME, input, { host: "codex" });
  const specific = output?.hookSpecificOutput as Record<string, unknown>;
  assert.equal(specific.permissionDecision, "deny");
  assert.match(String(specific.permissionDecisionReason), /^\.env is protected/);
});

test("protect-paths knows the tools of Gemini", async () => {
  const input = { session_id: "s", cwd: "/p", hook_event_name: "BeforeTool", tool_name: "write_file" };
  const { output } = await served(NAME, { ...input, tool_input: { file_path: "/p/.env", content: "" } }, {
    host: "gemini",
  });
  assert.equal(output?.decision, "deny");
});
