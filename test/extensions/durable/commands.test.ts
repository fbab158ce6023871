import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CROCHET, start } from "../../_crochet.ts";
import { type Place, place } from "../../_place.ts";
import { script } from "../../log/_saver.ts";
import { until } from "../../_until.ts";

const SCRIPT = script({ saves: 4, permissions: {} });

/** Starts a durable run and gives its id once it has said it. */
async function started({ cwd, home, put }: Place, args: readonly string[], env: Record<string, string> = {}) {
  put({ "saver.ts": SCRIPT });
  const words = [...CROCHET, "run", "--durable", ...args, "saver.ts", "save it"];
  const { said, kill } = start(words, { cwd, env: { HOME: home, ...env } });
  await until("the run's id", () => /run (\S+) is durable/.test(said.err));
  const [, id] = /run (\S+) is durable/.exec(said.err)!;
  return { said, kill, id: id! };
}

const effects = ({ cwd }: Place) =>
  existsSync(join(cwd, "effects")) ? readFileSync(join(cwd, "effects"), "utf8").trim().split("\n") : [];

test("crochet run --durable survives kill -9: the same command with --resume goes on, and no finished call runs again", async () => {
  using here = place();
  const { said, kill, id } = await started(here, ["--permission-mode", "bypass"], { HANGS: "t3" });
  assert.match(said.err, /if this process dies, run the same command with --resume \S+/);
  await until("two calls", () => effects(here).length === 2);
  await kill();
  const durable = ["run", "--durable", "--permission-mode", "bypass", "--resume"];
  const wrong = await here.main([...durable, id, "saver.ts", "another prompt"]);
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /as its last run was interrupted: go on with it first, with no prompt or "save it"/);
  const done = await here.main([...durable, id, "saver.ts"]);
  assert.deepEqual([done.code, done.out], [0, "saver has saved 4 times\n"], done.err);
  const key = (n: number) => `tool:${id}:0.1:Save:t${n}`;
  assert.deepEqual(effects(here), [key(1), key(3), key(3), key(5), key(7)]);
  const again = await here.main([...durable, id, "saver.ts"]);
  assert.deepEqual([again.code, again.out], [0, "saver has saved 4 times\n"], again.err);
  assert.equal(effects(here).length, 5);
  const unknown = await here.main([...durable, "nobody", "saver.ts"]);
  assert.equal(unknown.code, 2);
  assert.match(unknown.err, /as there is no run of that id/);
  const shown = await here.main(["runs", "show", id]);
  assert.equal(shown.out.match(/saved it$/gm)?.length, 4, shown.out);
  assert.equal(shown.out.match(/ran again/g)?.length, 1, shown.out);
});

test("a run that must be logged is refused if nothing is", async () => {
  using here = place({ "saver.ts": SCRIPT });
  const { code, err } = await here.main(["run", "--durable", "saver.ts", "go"], { CROCHET_LOG: "off" });
  assert.deepEqual([code, effects(here)], [2, []]);
  assert.match(err, /Cannot run with 'durable' as nothing is logged: leave out CROCHET_LOG=off/);
});

test("a durable run waits for a person: crochet agents answer shows what is asked and answers it, also after a crash", async () => {
  using here = place();
  const { said, kill, id } = await started(here, []);
  await until("the question", () => said.err.includes(`crochet agents answer ${id}`));
  await kill();
  const asked = await here.main(["agents", "answer", id]);
  assert.deepEqual([asked.code, asked.out.split("\n").at(-2)], [0, "  Save {}"], asked.err);
  const nobody = await here.main(["agents", "answer", "other", "allow"]);
  assert.equal(nobody.code, 2);
  assert.ok(nobody.err.includes(`has no pending question: these agents have one: ${id}`), nobody.err);
  assert.equal((await here.main(["agents", "answer", id, "maybe"])).code, 2);
  const allowed = await here.main(["agents", "answer", id, "allow", "--remember"]);
  assert.equal(allowed.code, 0, allowed.err);
  const done = await here.main(["run", "--durable", "--resume", id, "saver.ts"]);
  assert.deepEqual([done.code, done.out], [0, "saver has saved 4 times\n"], done.err);
  assert.equal(effects(here).length, 4);
  const again = await started(here, []);
  await until("another question", () => again.said.err.includes(`crochet agents answer ${again.id}`));
  assert.equal((await here.main(["agents", "answer", again.id, "deny", "not", "today"])).code, 0);
  await until("the next question", () => again.said.err.split(`crochet agents answer ${again.id}`).length > 2);
  await again.kill();
  const shown = await here.main(["runs", "show", again.id]);
  assert.match(shown.out, /not today/);
});
