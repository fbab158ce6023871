import assert from "node:assert/strict";
import { linkSync, readFileSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { agent } from "../../lib/agent/agent.ts";
import type { Effect } from "../../lib/core/tool.ts";
import { permissionGate } from "../../lib/permissions/ruling.ts";
import { matchesIf, type Permissions } from "../../lib/permissions/rules.ts";
import { scripted } from "../../lib/testing/index.ts";
import { tool } from "../../lib/tools/make-tool.ts";
import { testData } from "../_data.ts";
import { scratch } from "../_scratch.ts";
import { CWD, ofTool } from "./_call.ts";

interface Case extends Pick<Permissions, "mode" | "allow" | "deny"> {
  readonly name: string;
  readonly call: { readonly tool_name: string; readonly effect: Effect; readonly input: Record<string, unknown> };
  readonly expect: string;
}

const CASES: Case[] = readFileSync(testData("own-tools.jsonl"), "utf8").trim().split("\n").map((line) =>
  JSON.parse(line)
);

/** What comes of a call of a project's tool in a run in which nobody can be asked. */
async function ran(tools: { name: string; effect?: Effect }, input: object, permissions: Permissions): Promise<string> {
  using folder = scratch({ "secret/key": "1", "src/a.ts": "", "keep/a.ts": "" });
  const calls: unknown[] = [];
  const own = tool({ ...tools, description: "Own", input: { type: "object" }, run: (given) => `${calls.push(given)}` });
  const model = scripted([{ tools: [{ name: own.name, input }] }, { text: "done" }]);
  const { denials } = await agent({ model, tools: [own], permissions, cwd: folder.path }).run("go");
  assert.equal(calls.length + denials.length, 1);
  return denials[0]?.by ?? "ran";
}

test("a deny rule about Read or Edit reaches a tool of a project that names a path: decided, permitted and run", async () => {
  for (const { name, call: { tool_name, effect, input }, expect, ...rules } of CASES) {
    assert.equal(ofTool(tool_name, input, rules, { effect }).behavior, expect, name);
    const call = { tool_name, effect, input, cwd: CWD, tool_use_id: "1" };
    assert.equal((await permissionGate(rules).permit(call, "continue")).behavior, expect, name);
    const by = { allow: "ran", deny: rules.deny?.[0], ask: "permissions" }[expect];
    assert.equal(await ran({ name: tool_name, effect }, input, rules), by, name);
  }
});

test("it reaches any tool by each field that names a path, in every mode, unless the tool has no effect", () => {
  const deny = ["Read(secret/**)", "Edit(keep/**)", "Read(~/.ssh/**)"];
  const table: [effect: Effect, input: Record<string, unknown>, expect: string][] = [
    ["write", { path: "secret/key" }, "deny"],
    ["write", { notebook_path: `${CWD}/keep/a.ipynb` }, "deny"],
    ["read", { file_path: "src/a.ts", path: "src/../secret" }, "deny"],
    ["read", { path: join(homedir(), ".ssh/id") }, "deny"],
    ["read", { path: "~/.ssh" }, "deny"],
    ["read", { path: "keep" }, "allow"],
    ["none", { path: "secret/key" }, "allow"],
    ["read", { path: 7, text: "secret/key" }, "allow"],
    ["read", {}, "allow"],
  ];
  for (const [effect, input, expect] of table) {
    for (const name of ["Own", "mcp__files__look"]) {
      for (const mode of ["default", "acceptEdits", "bypass"] as const) {
        const says = ofTool(name, input, { deny, mode, roots: [CWD] }, { effect }).behavior;
        assert.equal(says, expect, `${name} ${effect} ${mode} ${JSON.stringify(input)}`);
      }
    }
  }
});

test("no link of either kind hides from it what a tool is given", () => {
  using folder = scratch({ "secret/key": "1" });
  const cwd = folder.path;
  symlinkSync("secret", join(cwd, "shown"));
  linkSync(join(cwd, "secret/key"), join(cwd, "copy"));
  for (const path of ["shown", "shown/key", "copy"]) {
    for (const name of ["Own", "Grep"]) {
      const { behavior } = ofTool(name, { path }, { deny: ["Read(secret/**)"] }, { cwd, effect: "read" });
      assert.equal(behavior, "deny", `${name} ${path}`);
    }
  }
});

test("an ask rule reaches them too, an allow rule and the if of a hook never do", () => {
  const says = (permissions: Permissions) => ofTool("Format", { file_path: "src/a.ts" }, permissions).behavior;
  assert.equal(says({ ask: ["Read(src/**)"], mode: "bypass" }), "ask");
  assert.equal(says({ ask: ["Edit"], mode: "bypass" }), "ask");
  assert.equal(says({ allow: ["Edit", "Edit(src/**)", "Read(src/**)"], mode: "acceptEdits" }), "ask");
  assert.equal(says({ allow: ["Format"] }), "allow");
  assert.ok(!matchesIf("Edit(src/**)", { tool_name: "Format", input: { file_path: "src/a.ts" }, cwd: CWD }));
});

test("a tool that does not say its effect counts as one that writes", async () => {
  assert.equal(
    await ran({ name: "Own" }, { path: "secret" }, { mode: "bypass", deny: ["Read(secret)"] }),
    "Read(secret)",
  );
  assert.equal(await ran({ name: "Own" }, { path: "keep" }, { mode: "bypass", deny: ["Edit(keep)"] }), "Edit(keep)");
});
