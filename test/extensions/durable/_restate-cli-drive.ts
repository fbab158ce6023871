/** The commands against a real engine, where there is no network but its own. Arguments: folder, server. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { until } from "../../_until.ts";
import { start, type Started } from "../../_crochet.ts";
import { command } from "./_kill.ts";
import { ADMIN, driven, INGRESS, startServer } from "./_restate.ts";
import { LIB } from "../../_runtime.ts";

const [dir, binary] = process.argv.slice(2) as [string, string];
const running: Started[] = [];

/** Talks a while, piece by piece, then asks to be let save. */
const SCRIPT = `
import { appendFileSync } from "node:fs";
import { agent, tool } from "${LIB}/index.ts";

const Save = tool({
  name: "Save", description: "Saves.", effect: "write", input: { type: "object", properties: {} },
  run: (_, { idempotencyKey }) => (appendFileSync("${dir}/saved", idempotencyKey + "\\n"), "saved"),
});
const said = (block) => [{ type: "content_block_start", index: 0, content_block: block }, { type: "content_block_stop", index: 0 }];
const model = async function* ({ messages }) {
  yield { type: "message_start", message: {} };
  const calls = messages.length === 1;
  if (calls) yield* said({ type: "tool_use", id: "t1", name: "Save", input: {} });
  else {
    yield { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
    for (const text of ["one ", "two ", "three"]) {
      yield { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } };
      await new Promise((resolve) => setTimeout(resolve, 400));
    }
    yield { type: "content_block_stop", index: 0 };
  }
  yield { type: "message_delta", delta: { stop_reason: calls ? "tool_use" : "end_turn" } };
  yield { type: "message_stop" };
};
export default agent({ from: import.meta.url, name: "saver", tools: [Save], model, permissions: { ask: ["Save"] } });
`;

const crochet = (...args: readonly string[]): Started => {
  const one = start([...command("../../../lib/cli/main.ts"), ...args]);
  running.push(one);
  return one;
};

/** Waits until a command says how to answer a question; the id of who asks. */
async function askedBy({ said }: Started): Promise<string> {
  const how = /agents answer --on \S+ (\S+) allow/;
  await until("the question", () => how.test(said.err));
  return how.exec(said.err)![1]!;
}

async function drive(): Promise<string> {
  running.push(await startServer(binary, dir));
  const script = join(dir, "saver.ts");
  writeFileSync(script, SCRIPT);
  const worker = crochet(
    "worker",
    script,
    "--admin",
    ADMIN,
    "--port",
    "19080",
  );
  await until("the worker says where it is", () => worker.said.out.includes("registered"));
  assert.match(
    worker.said.out,
    /worker at http:\/\/127.0.0.1:19080, registered with .*: saver/,
  );

  const run = crochet(
    "run",
    "--on",
    INGRESS,
    "--output",
    "stream-json",
    script,
    "save it",
  );
  const texts: { text: string; at: number }[] = [];
  run.child.stdout!.on("data", (lines: string) => {
    for (const line of lines.split("\n").filter((l) => l.startsWith("{"))) {
      const event = JSON.parse(line) as { type: string; text: string };
      if (event.type === "text") {
        texts.push({ text: event.text, at: Date.now() });
      }
    }
  });
  const id = await askedBy(run);
  assert.ok(
    !existsSync(join(dir, "saved")),
    "nothing is saved before it is allowed",
  );
  const asked = await crochet("agents", "answer", id!, "--on", INGRESS).done;
  assert.match(asked.out, /Save asks for permission[\s\S]*Save \{\}/);
  assert.equal(
    (await crochet("agents", "answer", id!, "allow", "--on", INGRESS).done)
      .code,
    0,
  );
  const { code, out } = await run.done;
  const result = JSON.parse(out.trim().split("\n").at(-1)!) as {
    type: string;
    stop: string;
    text: string;
  };
  assert.deepEqual([code, result.type, result.stop, result.text], [
    0,
    "result",
    "done",
    "one two three",
  ]);
  assert.equal(texts.map(({ text }) => text).join(""), "one two three");
  assert.ok(texts.length > 1, "words come while they are said, not at the end");
  assert.equal(
    readFileSync(join(dir, "saved"), "utf8"),
    `tool:${id}:0.1:Save:t1\n`,
  );
  assert.equal(
    (await crochet("agents", "answer", id!, "allow", "--on", INGRESS).done)
      .code,
    2,
  );

  // Followed once more: the same end, and nothing is done again.
  const ended = await crochet("run", "--on", INGRESS, "--resume", id!, "--output", "stream-json").done;
  assert.deepEqual([ended.code, JSON.parse(ended.out.trim().split("\n").at(-1)!)], [0, result], ended.err);
  assert.equal(saved().length, 1);
  const unknown = await crochet("run", "--on", INGRESS, "--resume", "nobody").done;
  assert.equal(unknown.code, 1);
  assert.match(unknown.err, /Cannot follow run 'nobody' as it was not submitted/);
  const again = await crochet("run", "--on", INGRESS, "--resume", id!, script, "and more").done;
  assert.deepEqual([again.code, again.out], [0, "one two three\n"], again.err);

  await followedAgain(script);
  await cutOff(script);
  const nobody = await crochet("run", "--on", INGRESS, "hello").done;
  assert.equal(nobody.code, 1);
  assert.match(nobody.err, /as no worker serves it/);
  return "ok";
}

const saved = () => readFileSync(join(dir, "saved"), "utf8").split("\n").filter(Boolean);

/** Whoever follows is killed; another follows the same run to its end. */
async function followedAgain(script: string): Promise<void> {
  const before = saved().length;
  const first = crochet("run", "--on", INGRESS, script, "save it too");
  await askedBy(first);
  const [, id] = /to follow it again: crochet run --on \S+ --resume (\S+)/.exec(first.said.err)!;
  await first.kill();
  const second = crochet("run", "--on", INGRESS, "--resume", id!);
  assert.equal(await askedBy(second), id);
  assert.equal((await crochet("agents", "answer", id!, "allow", "--on", INGRESS).done).code, 0);
  const { code, out } = await second.done;
  assert.deepEqual([code, out], [0, "one two three\n"]);
  assert.deepEqual(saved().slice(before), [`tool:${id}:0.1:Save:t1`], "the run was followed, not made again");
}

/** Connections that are cut come back by themselves, and nothing is told twice. */
async function cutOff(script: string): Promise<void> {
  const ends = new Set<Socket>();
  const proxy = createServer((near) => {
    const far = connect(18080, "127.0.0.1");
    for (const end of [near, far]) ends.add(end.on("error", () => {}));
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => proxy.listen(18081, "127.0.0.1", resolve));
  const run = crochet("run", "--on", "http://127.0.0.1:18081", "--output", "stream-json", script, "save it again");
  const id = await askedBy(run);
  for (const end of ends) end.destroy();
  assert.equal((await crochet("agents", "answer", id!, "allow", "--on", INGRESS).done).code, 0);
  const { code, out } = await run.done;
  proxy.close();
  for (const end of ends) end.destroy();
  const events = out.trim().split("\n").map((line) => JSON.parse(line) as { type: string; text?: string });
  assert.deepEqual([code, events.at(-1)!.type, events.at(-1)!.text], [0, "result", "one two three"], run.said.err);
  assert.equal(events.filter(({ type }) => type === "text").map(({ text }) => text).join(""), "one two three");
  assert.equal(events.filter(({ type }) => type === "question").length, 1);
}

await driven(drive, running);
