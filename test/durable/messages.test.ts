import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { test } from "node:test";
import { type SqliteSteps, sqliteSteps } from "../../lib/durable/index.ts";
import { remote, serve } from "../../lib/durable/restate.ts";
import { scratch } from "../_scratch.ts";
import { serve as listening } from "../_server.ts";

test("sqliteSteps() refuses a file that is not a journal, or of another version, and says to move it away", async () => {
  using folder = scratch();
  const text = join(folder.path, "text.sqlite");
  writeFileSync(text, "This is a text that is long enough to be taken for the head of a database. ".repeat(20));
  const other = join(folder.path, "other.sqlite");
  const db = new DatabaseSync(other);
  db.exec("CREATE TABLE step (id INTEGER, data TEXT)");
  db.close();
  for (const path of [text, other]) {
    const steps = sqliteSteps(path);
    await assert.rejects(steps.step("llm:a:0.1:1", async () => 1), (error: Error) => {
      assert.match(
        error.message,
        /^Cannot use the journal .*\.sqlite as it is damaged or of another version .*: move/,
      );
      return true;
    });
    steps.close();
  }
});

test("sqliteSteps() that is closed ends what waits for an answer, and is used no more", async () => {
  using folder = scratch();
  const steps = sqliteSteps(join(folder.path, "steps.sqlite"));
  const waiting = steps.wait("ask:a:1", async () => steps.close());
  await assert.rejects(waiting, /Cannot wait for an answer as the journal .*steps\.sqlite is closed/);
  await assert.rejects(steps.step("llm:a:0.1:1", async () => 1), /steps\.sqlite as it is closed: open another/);
});

test("sqliteSteps() says of a step that two processes run at once that a session is for one at a time", async () => {
  using folder = scratch();
  const [one, other] = [1, 2].map(() => sqliteSteps(join(folder.path, "steps.sqlite"))) as [SqliteSteps, SqliteSteps];
  const twice = one.step("llm:a:0.1:1", () => other.step("llm:a:0.1:1", async () => 1));
  await assert.rejects(twice, /as another process has run the same step meanwhile: let one process at a time/);
  one.close();
  other.close();
});

test("remote() refuses what is not an address before any request", () => {
  for (const given of ["localhost", "127.0.0.1:8080", "ftp://here", "http://", ""]) {
    assert.throws(() => remote(given), { name: "TypeError", message: /^Cannot use '.*' as an engine's address: give/ });
  }
  remote("http://127.0.0.1:8080/");
});

test("remote() has an error each for an absent engine, an agent without a worker and an address that is not an ingress", async () => {
  let body = "";
  const engine = await listening((_, response) => void response.writeHead(404).end(body));
  const run = () => remote(engine.url).run({ agent: "helper", id: "h-1", prompt: "hi" });
  {
    using _ = engine;
    body = `{"code":404,"message":"service not found"}`;
    await assert.rejects(run(), /Cannot reach agent 'helper' as no worker serves it at .*: start 'crochet worker'/);
    await assert.rejects(remote(engine.url).replay({}), /start 'crochet worker --fixtures'/);
    body = "";
    await assert.rejects(run(), /as http:\S+ is not its ingress/);
  }
  await assert.rejects(run(), /Cannot reach an engine as nothing answers at/);
});

test("serve() says why it cannot listen at an address in use", async () => {
  using other = await listening(() => {});
  const port = Number(new URL(other.url).port);
  await assert.rejects(serve([], { port, sharePort: false }), {
    message: `Cannot listen at 127.0.0.1:${port} as the address is in use: give another port or host`,
  });
});
