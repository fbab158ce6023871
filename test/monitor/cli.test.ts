import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { CROCHET } from "../_crochet.ts";
import { scratch } from "../_scratch.ts";
import { until } from "../_until.ts";

const BIN = fileURLToPath(new URL("../../lib/cli/crochet", import.meta.url));
const folder = scratch();
const root = folder.path;
after(() => folder[Symbol.dispose]());
const env = { ...process.env, CROCHET_HOME: join(root, "state"), HOME: root, NO_COLOR: "1" };

/** Through the launcher, as the host of a watched agent starts it. */
function crochet(args: string[], input = "") {
  const { status, stdout, stderr } = spawnSync(BIN, args, { cwd: root, env, input, encoding: "utf8", timeout: 60_000 });
  return { status, stdout, stderr };
}

const hook = (name: string, id: string, input: unknown) =>
  crochet(["agent", "hook", name, id], typeof input === "string" ? input : JSON.stringify(input));
const states = () =>
  JSON.parse(crochet(["agents", "--json", "--all"]).stdout) as {
    id: string;
    state: string;
    prompt_type?: string;
    message?: string;
  }[];
const stateOf = (id: string) => states().find((a) => a.id === id);

test("S2.9, S2.10, S2.15: agent settings writes exactly one PreToolUse entry beside Stop and Notification, and prints the path", () => {
  const { status, stdout } = crochet(["agent", "settings", "fresh"]);
  assert.equal(status, 0);
  const path = stdout.trim().split("\n").at(-1)!;
  const { hooks } = JSON.parse(readFileSync(path, "utf8"));
  assert.deepEqual(Object.keys(hooks), ["Stop", "Notification", "PreToolUse"]);
  assert.equal(hooks.PreToolUse.length, 1);
  assert.equal(hooks.PreToolUse[0].matcher, "ExitPlanMode|AskUserQuestion|EnterPlanMode");
  assert.match(hooks.PreToolUse[0].hooks[0].command, /^\/.* \/.*note\.ts agent hook pretooluse fresh$/);
  assert.equal(hooks.PreToolUse[0].hooks[0].type, "command");
});

for (const first of [["settings", "first"], ["hook", "stop", "first"]]) {
  test(`what is kept of watched agents is for their person's eyes only, where agent ${first[0]} comes first`, () => {
    const state = join(mkdtempSync(join(root, "home-")), "state");
    const [program, ...words] = CROCHET;
    const { status } = spawnSync(program, [...words, "agent", ...first], {
      cwd: root,
      env: { ...env, CROCHET_HOME: state },
      input: "{}",
    });
    assert.equal(status, 0);
    const kept = [state, ...readdirSync(state, { recursive: true, encoding: "utf8" }).map((name) => join(state, name))];
    assert.ok(kept.length > 2);
    assert.deepEqual(kept.filter((path) => statSync(path).mode & 0o077), []);
  });
}

test("agent settings refuses a workspace whose own hooks it could not keep, and names the file", () => {
  const workspace = join(root, "odd");
  mkdirSync(join(workspace, ".claude"), { recursive: true });
  for (const text of ["{", "[]", "null", '{"hooks":[]}', '{"hooks":{"Stop":{}}}']) {
    writeFileSync(join(workspace, ".claude", "settings.json"), text);
    const { status, stderr } = crochet(["agent", "settings", "odd", "--workspace", workspace]);
    assert.notEqual(status, 0);
    assert.match(stderr, /Cannot keep the hooks of \S+settings\.json as /, text);
  }
});

test("S2.2: the user's own hooks and keys are kept, in front of ours", () => {
  const workspace = join(root, "project");
  mkdirSync(join(workspace, ".claude"), { recursive: true });
  const own = {
    model: "x",
    hooks: { PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command: "true" }] }] },
  };
  writeFileSync(join(workspace, ".claude", "settings.json"), JSON.stringify(own));
  const { stdout } = crochet(["agent", "settings", "kept", "--workspace", workspace]);
  const made = JSON.parse(readFileSync(stdout.trim(), "utf8"));
  assert.equal(made.model, "x");
  assert.deepEqual(made.hooks.PreToolUse[0], own.hooks.PreToolUse[0]);
  assert.equal(made.hooks.PreToolUse.length, 2);
});

test("S2.1, S2.3, S2.7, S2.8: the hook is silent, exits 0 and moves the agent to prompting", () => {
  const question = { tool_name: "AskUserQuestion", tool_input: { questions: [{ question: "Which one?" }] } };
  assert.deepEqual(hook("pretooluse", "asker", question), { status: 0, stdout: "", stderr: "" });
  assert.deepEqual([stateOf("asker")?.state, stateOf("asker")?.prompt_type, stateOf("asker")?.message], [
    "prompting",
    "question",
    "Which one?",
  ]);
  hook("notification", "asker", { notification_type: "permission_prompt", message: "needs permission" });
  assert.equal(stateOf("asker")?.prompt_type, "question");
  hook("stop", "asker", {});
  assert.equal(stateOf("asker")?.state, "waiting");
});

for (
  const [what, input] of [["no JSON", "not json"], ["no tool_name", {}], ["an unknown tool", { tool_name: "Bash" }], [
    "nothing",
    "",
  ]] as const
) {
  test(`S2.5, S2.6: ${what} on stdin is no event, silent, exit 0`, () => {
    assert.deepEqual(hook("pretooluse", "quiet", input), { status: 0, stdout: "", stderr: "" });
    assert.equal(stateOf("quiet"), undefined);
  });
}

test("S2.8: a hook that cannot write its log is silent and exits 0 all the same", () => {
  const blocked = spawnSync(BIN, ["agent", "hook", "stop", "x"], {
    env: { ...env, CROCHET_HOME: "/proc/none" },
    input: "{}",
    encoding: "utf8",
  });
  assert.deepEqual([blocked.status, blocked.stdout, blocked.stderr], [0, "", ""]);
  assert.deepEqual(hook("stop", "../escape", {}), { status: 0, stdout: "", stderr: "" });
});

test("S2.13, S2.14, S2.18: a plan that waits triggers the on_prompt action, once", async () => {
  const out = join(root, "escalated");
  crochet(["agent", "settings", "planner", "--on-prompt", `echo "$CROCHET_AGENT_ID $CROCHET_PROMPT_TYPE" >> ${out}`]);
  const told = () => existsSync(out) ? readFileSync(out, "utf8") : "";
  hook("pretooluse", "planner", { tool_name: "ExitPlanMode", tool_input: { plan: "1. do it" } });
  hook("notification", "planner", { notification_type: "permission_prompt", message: "permission" });
  // The next prompt shows that the permission before it was told to nobody: actions are started and not awaited.
  hook("stop", "planner", {});
  hook("pretooluse", "planner", { tool_name: "AskUserQuestion", tool_input: { questions: [{ question: "Why?" }] } });
  await until("the question is told", () => told().includes("question"));
  assert.deepEqual(told().trim().split("\n").sort(), ["planner plan_approval", "planner question"]);
});

test("agents lists what is watched, with what each asks", () => {
  hook("pretooluse", "shown", { tool_name: "EnterPlanMode" });
  const { stdout } = crochet(["agents"]);
  assert.match(stdout, /shown\s+prompting\(plan_approval\)/);
});
