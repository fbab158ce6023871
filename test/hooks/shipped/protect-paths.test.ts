import assert from "node:assert/strict";
import { test } from "node:test";
import { claudeCall, served } from "./_shipped.ts";

const NAME = "pre-tool-use@Edit+Write.protect-paths.ts";

test("protect-paths sees every file of a patch of Codex", async () => {
  const command = "*** Begin Patch\n*** Update File: src/a.ts\n*** Add File: .env\n+X=1\n*** End Patch";
  const input = { ...claudeCall("apply_patch", { command }), turn_id: "t", model: "m" };
  const { output } = await served(NAME, input, { host: "codex" });
  const specific = output?.hookSpecificOutput as Record<string, unknown>;
  assert.equal(specific.permissionDecision, "deny");
  assert.match(String(specific.permissionDecisionReason), /^\/\S+\/\.env is protected/);
});

test("protect-paths knows the tools of Gemini", async () => {
  const input = { session_id: "s", cwd: "/p", hook_event_name: "BeforeTool", tool_name: "write_file" };
  const { output } = await served(NAME, { ...input, tool_input: { file_path: "/p/.env", content: "" } }, {
    host: "gemini",
  });
  assert.equal(output?.decision, "deny");
});

test("protect-paths and read-first answer about a path that no file can have, and protect what its end names", async () => {
  const long = `/tmp/${"n".repeat(300)}`;
  for (
    const [file_path, name, decision] of [
      [`${long}/.env`, NAME, "deny"],
      [`/tmp${"/deep".repeat(2000)}/.env`, NAME, "deny"],
      [long, NAME, undefined],
      [long, "pre-tool-use@Edit+Write.read-first.ts", undefined],
    ] as const
  ) {
    const { output, code } = await served(name, claudeCall("Write", { file_path, content: "" }));
    const specific = output?.hookSpecificOutput as Record<string, unknown> | undefined;
    assert.deepEqual([code, specific?.permissionDecision], [0, decision], `${name} ${file_path.length}`);
  }
});
