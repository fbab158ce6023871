import assert from "node:assert/strict";
import { test } from "node:test";
import type { PermissionQuestion } from "../../lib/permissions/gate.ts";
import { permissionGate } from "../../lib/permissions/ruling.ts";

const call = (command: string) => ({
  tool_name: "Bash",
  input: { command },
  tool_use_id: "toolu_1",
  cwd: "/srv",
  effect: "write" as const,
});
const signal = new AbortController().signal;

test("U3: a hook's allow skips asking, but beats no deny rule, no ask rule and no plan mode", async () => {
  const gate = permissionGate({ ask: ["Bash(git push *)"], deny: ["Bash(rm *)"] });
  const says = async (command: string, verdict: "continue" | "allow" | "ask") =>
    (await gate.permit(call(command), verdict)).behavior;
  assert.equal(await says("make", "continue"), "ask");
  assert.equal(await says("make", "allow"), "allow");
  assert.equal(await says("git push", "allow"), "ask");
  assert.equal(await says("rm x", "allow"), "deny");
  assert.equal((await permissionGate({ mode: "plan" }).permit(call("make"), "allow")).behavior, "deny");
});

test("U3: a hook's ask holds if a rule or the mode allows, and beats no deny rule", async () => {
  for (const permissions of [{ allow: ["Bash(ls *)"] }, { mode: "bypass" as const }]) {
    assert.equal((await permissionGate(permissions).permit(call("ls"), "ask")).behavior, "ask");
  }
  assert.equal((await permissionGate({ deny: ["Bash(ls *)"] }).permit(call("ls"), "ask")).behavior, "deny");
});

test("a denial is worded as the host words it, then names the rule", async () => {
  const gate = permissionGate({ mode: "bypass", deny: ["Bash(rm *)", "Write"] });
  assert.deepEqual(await gate.permit(call("rm -rf x"), "continue"), {
    behavior: "deny",
    rule: "Bash(rm *)",
    reason: "Permission to use Bash with command rm -rf x has been denied.\nThe rule Bash(rm *) denies it.",
    note: "the rule Bash(rm *) denies it; remove that rule to allow it",
  });
  const write = await gate.permit({ ...call(""), tool_name: "Write", input: { file_path: "/srv/a" } }, "continue");
  assert.match(write.reason, /^Permission to use Write has been denied\.\n/);
  const plan = await permissionGate({ mode: "plan" }).permit(call("make"), "continue");
  assert.equal(
    plan.reason,
    "Cannot use Bash as plan mode only reads: give your plan with ExitPlanMode; " +
      "if no person can agree to it there, ask the user to leave plan mode",
  );
});

test("if no person can be asked, an ask is worded as the host's refusal and names the rules that would allow it", async () => {
  const gate = permissionGate({ allow: ["Bash(ls *)"], roots: ["/srv"] });
  assert.equal(gate.askPerson, undefined);
  const table: [command: string, rules: string[]][] = [
    ["npm run build && ls", ["Bash(npm run *)"]],
    ["git push --force; make -j4 all", ["Bash(git push *)", "Bash(make *)"]],
    ["make -j4 all > log.txt", ["Bash(make *)", "Edit(/log.txt)"]],
    ["git push --force; make -j4 all > log.txt", ["Bash"]],
    ["'my tool' x", ["Bash('my tool' x)"]],
    ["$x", ["Bash"]],
    ["timeout 5 cargo test", ["Bash(timeout *)"]],
  ];
  for (const [command, rules] of table) {
    const { behavior, reason } = await gate.permit(call(command), "continue");
    assert.equal(behavior, "ask");
    const [first, second] = reason.split("\n");
    assert.equal(first, "Claude requested permissions to use Bash, but you haven't granted it yet.");
    assert.ok(second!.endsWith(`What would allow it: permissions.allow ${JSON.stringify(rules)}`), reason);
  }
});

test("the proposed rules for files name the file, wherever it is", async () => {
  const gate = permissionGate({ roots: ["/srv", "/other"] });
  const edit = async (file_path: string) =>
    (await gate.permit({ ...call(""), tool_name: "Edit", input: { file_path } }, "continue")).reason;
  assert.match(await edit("/srv/src/[id].ts"), /\["Edit\(\/src\/\\\\\[id\\\\\]\.ts\)"\]$/);
  assert.match(await edit("/elsewhere/a"), /\["Edit\(\/\/elsewhere\/a\)"\]$/);
  assert.match(
    await edit("/other/a"),
    /\["Edit\(\/\/other\/a\)"\]$/,
    "only the first folder is the one paths begin at",
  );
});

test("an ask rule's refusal says that no allow rule helps", async () => {
  const { reason, rule } = await permissionGate({ ask: ["Bash(git push *)"] }).permit(call("git push"), "continue");
  assert.equal(rule, "Bash(git push *)");
  assert.match(
    reason,
    /^Claude requested permissions to use Bash, but you haven't granted it yet\.\n.*No allow rule can change that: remove Bash\(git push \*\)$/s,
  );
});

test("a person is asked with the reason and the rules, and what they allow is remembered when they say so", async () => {
  const questions: PermissionQuestion[] = [];
  const gate = permissionGate({}, {
    permissionAsker: async (question) => {
      questions.push(question);
      return { behavior: "allow", remember: questions.length === 2 };
    },
  });
  const permitted = await gate.permit(call("npm test"), "continue");
  assert.deepEqual(permitted, {
    behavior: "ask",
    reason: "Bash asks for permission: no rule allows 'npm test'",
    note: `no rule allows 'npm test'; to allow it: permissions.allow ["Bash(npm test *)"]`,
    suggestions: [{
      type: "addRules",
      rules: [{ toolName: "Bash", ruleContent: "npm test *" }],
      behavior: "allow",
      destination: "session",
    }],
  });
  assert.equal((await gate.askPerson!(call("npm test"), permitted.reason, signal)).behavior, "allow");
  assert.equal((await gate.permit(call("npm test"), "continue")).behavior, "ask");
  await gate.askPerson!(call("npm test"), permitted.reason, signal);
  assert.equal((await gate.permit(call("npm test"), "continue")).behavior, "allow");
  assert.equal((await gate.permit(call("npm publish"), "continue")).behavior, "ask");
  assert.deepEqual(questions[0]!.rules, ["Bash(npm test *)"]);
  assert.equal(questions[0]!.reason, permitted.reason);
});

test("a person's no is handed back, and nothing is remembered", async () => {
  const gate = permissionGate({}, {
    permissionAsker: async () => ({ behavior: "deny", reason: "not now", remember: true }),
  });
  assert.deepEqual(await gate.askPerson!(call("ls"), "why", signal), {
    behavior: "deny",
    reason: "not now",
    remember: true,
  });
  assert.deepEqual(gate.permissions().allow ?? [], []);
});

test("remember() adds rules for the session, as a permission-request hook may", async () => {
  const given = { allow: ["Bash(ls *)"] };
  const gate = permissionGate(given);
  gate.remember("allow", ["Bash(touch *)"]);
  gate.remember("deny", ["Bash(rm *)"]);
  assert.equal((await gate.permit(call("touch a"), "continue")).behavior, "allow");
  assert.equal((await gate.permit(call("rm a"), "continue")).behavior, "deny");
  assert.deepEqual(given, { allow: ["Bash(ls *)"] });
});

test("a malformed rule is found when the gate is made, in every list, and when it is remembered", () => {
  for (const list of ["allow", "ask", "deny"]) {
    assert.throws(
      () => permissionGate({ mode: "bypass", [list]: ["Bash(git *"] }),
      /^TypeError: Cannot read permission rule 'Bash\(git \*'/,
    );
  }
  const wrong = [
    [
      { mode: "oops" },
      /^TypeError: Cannot use permission mode 'oops' as it is unknown: expected default, acceptEdits/,
    ],
    [{ deny: "Bash" }, /^TypeError: Cannot take permissions as 'deny' must be a list: current value is "Bash"$/],
    [{ denny: ["Bash"] }, /^TypeError: Cannot take permissions as option 'denny' is unknown: did you mean 'deny'\?$/],
  ] as const;
  for (const [given, words] of wrong) assert.throws(() => permissionGate(given as object), words);
  assert.throws(() => permissionGate({}).remember("allow", ["Bash("]), /Cannot read permission rule/);
});
