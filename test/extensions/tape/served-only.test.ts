import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tapeServer } from "../../../lib/extensions/tape/tape-server.ts";
import { scriptedServer } from "../../../lib/testing/server.ts";
import { withEnv } from "../../_env.ts";
import { place } from "../../_place.ts";
import { RUNTIME } from "../../_runtime.ts";
import { RECORDERS } from "../../replay/_recorders.ts";
import { said, stream } from "../../replay/_written.ts";

const BODY = { model: "m", max_tokens: 9, messages: [{ role: "user", content: "hello" }] };
const HEADERS = { "x-api-key": "k", "anthropic-version": "2023-06-01" };
/** A program that asks once. */
const CLIENT = `
const messages = [{ role: "user", content: process.argv[2] ?? "hello" }];
const request = { method: "POST", headers: ${JSON.stringify(HEADERS)}, body: JSON.stringify({ ...${
  JSON.stringify(BODY)
}, messages }) };
await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", request);`;
const command = (...words: string[]) => ["--", ...RUNTIME, "client.mjs", ...words];

/** Fixtures of a program that is started, of one that runs already, of vcrpy, and of a recorder that kept no request. */
async function project() {
  const here = place({ "client.mjs": CLIENT });
  await using api = await scriptedServer([{ text: "hi there" }, { text: "hi there" }]);
  const recorded = await here.main(["record", "--once", "--fixture", "hi", ...command()], {
    ANTHROPIC_BASE_URL: api.url,
  });
  assert.equal(recorded.code, 0, recorded.err);
  await withEnv({ ANTHROPIC_BASE_URL: api.url, CI: undefined }, async () => {
    await using server = await tapeServer("running", { mode: "record", cwd: here.cwd });
    const request = { method: "POST", headers: HEADERS, body: JSON.stringify(BODY) };
    await fetch(`${server.env.ANTHROPIC_BASE_URL}/v1/messages`, request).then((answer) => answer.text());
  });
  const [, written] = RECORDERS.vcrpy!;
  writeFileSync(join(here.cwd, "it.yaml"), written([said(stream("hi there"), BODY)]));
  writeFileSync(join(here.cwd, "bare.txt"), stream("hi there"));
  const imported = await here.main(["fixtures", "import", "it.yaml", "bare.txt"]);
  assert.equal(imported.code, 0, imported.err);
  return { ...here, run: (...args: string[]) => here.main(args) };
}

test("RECORD 4: what was imported, or recorded from a running program, is served only: listed, not planned, run with a command", async () => {
  using here = await project();
  const names = ["running", "fixtures/imported/bare", "fixtures/imported/it"];
  const all = await here.run("replay");
  assert.deepEqual([all.code, all.err], [0, ""], all.out);
  assert.match(all.out, /^hi +held [^]*^fixtures\/imported\/it +served only +- +-$[^]*^held: 1 fixture$/m);
  assert.deepEqual(JSON.parse((await here.run("replay", "--json")).out).served, names);
  const named = await here.run("replay", ...names, "--trust");
  assert.equal(named.code, 2, named.out);
  for (const name of names) {
    const why = `served only, as it names neither an agent nor a command: crochet replay ${name} -- COMMAND`;
    assert.ok(named.out.includes(why), named.out);
  }
  rmSync(join(here.cwd, "fixtures/hi"), { recursive: true });
  const alone = await here.run("replay");
  assert.equal(alone.code, 2);
  assert.match(alone.err, /Cannot replay as what is here is served only \(running, fixtures\/imported\/bare, /);
  for (const name of ["running", "fixtures/imported/it"]) {
    const run = await here.run("replay", name, "--trust", ...command());
    assert.deepEqual([run.code, / +held +1\/1/.test(run.out)], [0, true], run.out);
  }
  const other = await here.run("replay", "fixtures/imported/it", "--trust", ...command("goodbye"));
  assert.deepEqual([other.code, /- hello\n +\+ goodbye/.test(other.out)], [1, true], other.out);
  const bare = await here.run("fixtures", "serve", "imported/bare");
  assert.deepEqual([bare.code, bare.out], [1, ""]);
  assert.match(bare.err, /Cannot serve bare as its recording has no answer of the Messages API with its request: let /);
});
