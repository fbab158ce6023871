import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { forgetRule, rememberedRules, rememberRules } from "../../../lib/cli/kit/stored.ts";
import { History } from "../../../lib/extensions/chat/chat-desk.ts";
import { place } from "../../_place.ts";

/** What the arrow up brings, from the newest on. */
function back(history: History): string[] {
  const found: string[] = [];
  for (let one = history.move(-1, ""); one !== undefined; one = history.move(-1, one)) found.push(one);
  return found;
}

test("History: prompts come back newest first, repeated ones once, with what was being written after them", () => {
  using where = place();
  const history = new History(where.cwd, {});
  for (const prompt of ["one", "two\nlines", "two\nlines", "three"]) history.add(prompt);
  assert.deepEqual(back(new History(where.cwd, {})), ["three", "two\nlines", "one"]);
  const again = new History(where.cwd, {});
  assert.equal(again.move(-1, "a draft"), "three");
  assert.equal(again.move(1, "three"), "a draft");
  assert.equal(again.move(1, "a draft"), undefined);
});

test("History: two chats at once lose nothing, and a torn or foreign line costs only itself", () => {
  using where = place();
  const [a, b] = [new History(where.cwd, {}), new History(where.cwd, {})];
  a.add("from a");
  b.add("from b");
  const file = join(where.cwd, ".crochet/chat/history.jsonl");
  assert.equal(statSync(file).mode & 0o077, 0, "others cannot read what was asked");
  appendFileSync(file, '{"not":"a text"}\n"torn');
  assert.deepEqual(back(new History(where.cwd, {})), ["from b", "from a"]);
  assert.equal(readFileSync(join(where.cwd, ".crochet/chat/.gitignore"), "utf8"), "*\n");
});

test("History: the newest 500 can be reached, and CROCHET_HOME is where it lives", () => {
  using where = place();
  mkdirSync(join(where.home, "chat"));
  const file = join(where.home, "chat/history.jsonl");
  writeFileSync(file, Array.from({ length: 1500 }, (_, i) => `"${i}"\n`).join(""));
  assert.deepEqual(back(new History(where.cwd, { CROCHET_HOME: where.home })).slice(499), ["1000"]);
});

test("History: if nothing can be written, it lasts for this chat", () => {
  using where = place({ ".crochet": "a file, no folder" });
  const history = new History(where.cwd, {});
  history.add("one");
  assert.deepEqual(back(history), ["one"]);
});

test("a rule is remembered for its project and its person alone, and can be forgotten", () => {
  using where = place();
  using other = place();
  const env = { HOME: where.home };
  rememberRules(where.cwd, env, ["Bash(git log *)", "Edit(/a.txt)"]);
  rememberRules(where.cwd, env, ["Bash(git log *)"]);
  assert.deepEqual(rememberedRules(where.cwd, env), ["Bash(git log *)", "Edit(/a.txt)"]);
  assert.deepEqual(rememberedRules(other.cwd, env), []);
  assert.deepEqual(rememberedRules(where.cwd, { HOME: other.home }), []);
  assert.deepEqual(readdirSync(where.cwd), []);
  assert.ok(forgetRule(where.cwd, env, "Edit(/a.txt)"));
  assert.ok(!forgetRule(where.cwd, env, "Edit(/a.txt)"));
  assert.deepEqual(rememberedRules(where.cwd, env), ["Bash(git log *)"]);
});

test("a checkout never allows itself anything: a CROCHET_HOME inside it and a file for another folder do not count", () => {
  using where = place();
  using other = place();
  const env = { HOME: where.home, CROCHET_HOME: ".crochet" };
  rememberRules(where.cwd, env, ["Bash"]);
  assert.deepEqual(readdirSync(where.cwd), []);
  const folder = join(where.home, ".crochet/permissions");
  const [name] = readdirSync(folder);
  const file = join(folder, name!);
  writeFileSync(file, JSON.stringify({ dir: other.cwd, allow: ["Bash"] }));
  assert.deepEqual(rememberedRules(where.cwd, env), []);
  writeFileSync(file, JSON.stringify({ dir: where.cwd, allow: ["Bash(a:*b)", 7, "Read(/x)"] }));
  assert.deepEqual(rememberedRules(where.cwd, env), ["Read(/x)"], "what is not a rule is left out");
  writeFileSync(file, "{ torn");
  assert.deepEqual(rememberedRules(where.cwd, env), []);
});
