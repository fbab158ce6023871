import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agent, anthropic } from "crochet";
import { scriptedServer } from "crochet/testing";
import { Bash, Edit, Read } from "crochet/tools";
import { noSandbox } from "../_needs.ts";
import { scratch } from "../_scratch.ts";

test("an agent fixes a failing project with Read, Edit and Bash, inside the sandbox", { skip: noSandbox }, async () => {
  using folder = scratch();
  const cwd = folder.path;
  writeFileSync(join(cwd, "sum.sh"), "echo $(($1 - $2))\n");
  writeFileSync(join(cwd, "test.sh"), '[ "$(sh sum.sh 2 3)" = 5 ] && echo pass || { echo fail; exit 1; }\n');
  const bash = (command: string) => ({ tools: [{ name: "Bash", input: { command } }] });
  await using server = await scriptedServer([
    bash("sh test.sh"),
    { tools: [{ name: "Read", input: { file_path: "sum.sh" } }] },
    { tools: [{ name: "Edit", input: { file_path: "sum.sh", old_string: "$1 - $2", new_string: "$1 + $2" } }] },
    bash("sh test.sh"),
    bash("touch /etc/crochet-was-here; echo tried"),
    { text: "The sum adds now, and the test passes." },
  ]);
  const seen: [name: string, outcome: string, content: string][] = [];
  const result = await agent({
    model: anthropic({ baseURL: server.url, apiKey: "none" }),
    system: "You fix failing tests.",
    tools: [Read, Edit, Bash],
    sandbox: "workspace",
    cwd,
    on: (e) => void (e.type === "tool_end" && seen.push([e.name, e.outcome, e.content])),
  }).run("make the test pass");
  assert.deepEqual([result.stop, result.error], ["done", undefined]);
  server.done();
  assert.deepEqual(seen.map(([name, outcome]) => `${name} ${outcome}`), [
    "Bash failure",
    "Read success",
    "Edit success",
    "Bash success",
    "Bash success",
  ]);
  assert.match(seen[3]![2], /^pass/);
  assert.match(seen[4]![2], /Read-only file system/);
  assert.equal(readFileSync(join(cwd, "sum.sh"), "utf8"), "echo $(($1 + $2))\n");
  assert.equal(existsSync("/etc/crochet-was-here"), false);
});
