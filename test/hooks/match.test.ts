import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventName, Fired } from "../../lib/core/events.ts";
import { compileMatcher, missing } from "../../lib/hooks/hook-matcher.ts";
import { env, folded, PRE, pre, ran, STOP } from "../core/_fired.ts";
import { named } from "../core/_stage.ts";

const TOOLS = ["Bash", "Edit", "NotebookEdit", "Write", "Read", "Agent", "mcp__srv__echo", "mcp__my-srv__do_it"];

/** The table of matchers observed in the host, form by form. */
const MATCHERS: [pattern: string | undefined, hits: string[]][] = [
  [undefined, TOOLS],
  ["", TOOLS],
  ["*", TOOLS],
  [".", TOOLS],
  [".*", TOOLS],
  ["Bash", ["Bash"]],
  ["bash", []],
  ["BASH", []],
  ["Bas", []],
  ["Edit", ["Edit"]],
  ["Edit|Write", ["Edit", "Write"]],
  ["Edit,Write", ["Edit", "Write"]],
  ["Edit, Write", ["Edit", "Write"]],
  ["Edit | Write", ["Edit", "Write"]],
  ["Write|", ["Write"]],
  [" Bash ", ["Bash"]],
  ["Bash Write", []],
  ["|", []],
  ["Edit.*", ["Edit", "NotebookEdit"]],
  [".*Edit", ["Edit", "NotebookEdit"]],
  ["Edit$", ["Edit", "NotebookEdit"]],
  ["^Edit$", ["Edit"]],
  ["\\bEdit\\b", ["Edit"]],
  ["Notebook", []],
  ["Notebook.*", ["NotebookEdit"]],
  ["B*", TOOLS],
  ["Ba*", ["Bash"]],
  ["B[a]sh", ["Bash"]],
  ["^Ba", ["Bash"]],
  ["^(?!Bash)", TOOLS.filter((t) => t !== "Bash")],
  ["!Bash", []],
  ["/Bash/", []],
  ["Bash(echo *)", []],
  ["Task", ["Agent"]],
  ["Agent", ["Agent"]],
  ["MultiEdit", []],
  ["LS", []],
  ["mcp__srv__echo", ["mcp__srv__echo"]],
  ["mcp__my-srv__do_it", ["mcp__my-srv__do_it"]],
  ["mcp__srv", []],
  ["mcp__srv__", []],
  ["mcp__my-srv", []],
  ["srv", []],
  ["echo", []],
  ["mcp__srv__.*", ["mcp__srv__echo"]],
  ["mcp__.*", ["mcp__srv__echo", "mcp__my-srv__do_it"]],
  ["mcp__*", ["mcp__srv__echo", "mcp__my-srv__do_it"]],
  ["mcp__srv__*", ["mcp__srv__echo"]],
  [".*__do_it", ["mcp__my-srv__do_it"]],
  ["toString", []],
];

test("S2.11, U12: matchers hit exactly what they hit in the host", async () => {
  for (const [pattern, hits] of MATCHERS) {
    const hit = compileMatcher(pattern);
    assert.deepEqual(TOOLS.filter(hit), hits, `matcher ${pattern}`);
    const misses = missing(pattern, hit);
    const hook = pre("h", () => undefined, misses ? { misses } : {});
    const asked: string[] = [];
    for (const tool_name of TOOLS) {
      if (ran(await folded([hook], { ...PRE, tool_name })).length > 0) asked.push(tool_name);
    }
    assert.deepEqual(asked, hits, `hook with matcher ${pattern}`);
  }
});

test("U12: a matcher that is not a valid expression is an error when it is loaded, never a hook that never fires", () => {
  for (const pattern of ["[", "(unclosed", "a{2,1}", "*Edit"]) {
    assert.throws(() => compileMatcher(pattern), (error: Error) => {
      assert.equal(error.name, "TypeError");
      assert.ok(error.message.startsWith(`Cannot use matcher '${pattern}' as it is not a regular expression: `));
      return true;
    });
  }
});

test("U12: a matcher is compared with the event's own field, and ignored if the event has no such field", async () => {
  const only = (event: string, pattern: string) =>
    named("h", event, () => undefined, { misses: missing(pattern, compileMatcher(pattern))! });
  const hits = async (event: string, pattern: string, fired: object, where = {}) =>
    ran(await folded([only(event, pattern)], { event, ...fired } as Fired<EventName>, env(where))).length === 1;
  assert.equal(await hits("session-start", "resume", { source: "startup" }), false);
  assert.equal(await hits("session-start", "resume", { source: "resume" }), true);
  assert.equal(await hits("session-end", "clear", { reason: "other" }), false);
  assert.equal(await hits("model-switch", ".*opus.*", { new_model: "claude-opus-5" }), true);
  assert.equal(await hits("error", "Bash", { tool: "Bash" }), true);
  assert.equal(await hits("error", "Bash", { tool: null }), false);
  assert.equal(await hits("notification", "idle", { notification_type: "idle" }), true);
  assert.equal(await hits("pre-compact", "auto", { trigger: "manual" }), false);
  assert.equal(await hits("file-changed", "notes", { file_path: "/srv/notes" }), true);
  assert.equal(await hits("file-changed", "srv", { file_path: "/srv/notes" }), false);
  assert.equal(await hits("user-prompt-submit", "Bash", { prompt: "hi" }), true);
  assert.equal(await hits("stop", "Bash", { ...STOP }), true);
  assert.equal(await hits("SubagentStop", "Explore", { ...STOP, event: "stop" }, { parent_agent_id: "p" }), false);
});
