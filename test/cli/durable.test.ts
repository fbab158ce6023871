import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { inFolder, until } from "../durable/_kill.ts";
import { crochet, put, RUN } from "./_recorded.ts";

const LIB = fileURLToPath(new URL("../../lib/", import.meta.url));

/** Calls its tool four times, a moment each, and says so. */
const SCRIPT = `
import { appendFileSync } from "node:fs";
import { agent, tool } from "${LIB}index.ts";
import { scripted } from "${LIB}testing/index.ts";

const Save = tool({
  name: "Save",
  description: "Saves.",
  effect: "write",
  input: { type: "object", properties: {} },
  run: async (_, { idempotencyKey, cwd }) => {
    appendFileSync(cwd + "/effects", idempotencyKey + "\\n");
    await new Promise((resolve) => setTimeout(resolve, 300));
    return "saved";
  },
});
const model = scripted([], {
  then: ({ messages }) => messages.length < 9
    ? { text: "again", tools: [{ name: "Save", input: {}, id: "t" + messages.length }] }
    : { text: "saved four times" },
});
export default agent({ from: import.meta.url, name: "saver", tools: [Save], model });
`;

/** Starts a durable run and gives its id once it has said it. */
async function started(dir: string, args: readonly string[]) {
  put(dir, { "saver.ts": SCRIPT });
  // Not by its name: what stands there may be a launcher, and killing that kills nobody else.
  const child = spawn(process.execPath, [...RUN.slice(1), "run", "--durable", ...args, "saver.ts", "save it"], {
    cwd: dir,
  });
  let err = "";
  let out = "";
  child.stderr.on("data", (text) => err += text);
  child.stdout.on("data", (text) => out += text);
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  await until("the session's id", () => /session (\S+) is durable/.test(err));
  const [, id] = /session (\S+) is durable/.exec(err)!;
  return { child, id: id!, ended, err: () => err, out: () => out };
}

const effects = (dir: string) =>
  existsSync(join(dir, "effects")) ? readFileSync(join(dir, "effects"), "utf8").trim().split("\n") : [];

test("crochet run --durable survives kill -9: the same command with --resume goes on, and no finished call runs again", async () => {
  await inFolder(async (dir) => {
    const { child, id, ended, err } = await started(dir, ["--permission-mode", "bypass"]);
    assert.match(err(), /should this process die, the same command with --resume \S+ goes on/);
    await until("two calls", () => effects(dir).length === 2);
    child.kill("SIGKILL");
    await ended;
    const durable = ["run", "--durable", "--permission-mode", "bypass", "--resume"];
    const wrong = await crochet(dir, [...durable, id, "saver.ts", "another prompt"]);
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /as its last run was interrupted: go on with it first, with no prompt or "save it"/);
    const done = await crochet(dir, [...durable, id, "saver.ts"]);
    assert.deepEqual([done.code, done.out], [0, "saved four times\n"], done.err);
    const key = (n: number) => `tool:${id}:0.1:Save:t${n}`;
    assert.deepEqual(effects(dir), [key(1), key(3), key(3), key(5), key(7)]);
    const over = await crochet(dir, [...durable, id, "saver.ts"]);
    assert.equal(over.code, 2);
    assert.match(over.err, /as its last run has ended: give a prompt/);
    const unknown = await crochet(dir, [...durable, "nobody", "saver.ts"]);
    assert.match(unknown.err, /as no durable run of it is known/);
    const shown = await crochet(dir, ["transcripts", "show", id]);
    assert.equal(shown.out.match(/saved$/gm)?.length, 4, shown.out);
  });
});

test("a durable run waits for a person: crochet agents answer shows what is asked and answers it, also after a crash", async () => {
  await inFolder(async (dir) => {
    const { child, id, ended, err } = await started(dir, []);
    await until("the question", () => err().includes(`crochet agents answer ${id}`));
    child.kill("SIGKILL");
    await ended;
    const asked = await crochet(dir, ["agents", "answer", id]);
    assert.deepEqual([asked.code, asked.out.split("\n").at(-2)], [0, "  Save {}"], asked.err);
    const nobody = await crochet(dir, ["agents", "answer", "other", "allow"]);
    assert.equal(nobody.code, 2);
    assert.ok(nobody.err.includes(`as it asks nothing: those who ask are ${id}`), nobody.err);
    assert.equal((await crochet(dir, ["agents", "answer", id, "maybe"])).code, 2);
    const allowed = await crochet(dir, ["agents", "answer", id, "allow", "--remember"]);
    assert.equal(allowed.code, 0, allowed.err);
    const done = await crochet(dir, ["run", "--durable", "--resume", id, "saver.ts"]);
    assert.deepEqual([done.code, done.out], [0, "saved four times\n"], done.err);
    assert.equal(effects(dir).length, 4);
    const again = await started(dir, []);
    await until("another question", () => again.err().includes(`crochet agents answer ${again.id}`));
    assert.equal((await crochet(dir, ["agents", "answer", again.id, "deny", "not", "today"])).code, 0);
    await until("the next question", () => again.err().split(`crochet agents answer ${again.id}`).length > 2);
    again.child.kill("SIGKILL");
    await again.ended;
    const shown = await crochet(dir, ["transcripts", "show", again.id]);
    assert.match(shown.out, /not today/);
  });
});
