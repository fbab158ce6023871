import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { textOf } from "../../lib/core/messages.ts";
import { scriptedServer } from "../../lib/testing/index.ts";
import { ended } from "../_crochet.ts";
import { type Place, place } from "../_place.ts";
import { OUR_RUNTIME } from "../_runtime.ts";
import { agentScript, asked, HOOK, LONG } from "./_recorded.ts";

const OFFLINE = { ANTHROPIC_API_KEY: "", ANTHROPIC_BASE_URL: "http://127.0.0.1:9" };

/** A script that knows of no tape, and listens to nothing. */
function putScript(here: Place, system: string, runs: string): void {
  const subject = agentScript(system).replace("export default", "const subject =");
  here.put({ "script.ts": `${subject}${runs}\n`, "hooks/stop.ts": HOOK });
}

function runScript(here: Place, env: Record<string, string>) {
  const script = [...OUR_RUNTIME, join(here.cwd, "script.ts")] as const;
  return ended(script, { cwd: here.cwd, env: { HOME: here.home, CROCHET_TAPE: "fixtures/x", ...env } });
}

for (
  const [how, runs] of [
    ["one after the other", `for (const i of [1, 2, 3]) console.log((await subject.run("say " + i)).text);`],
    [
      "each going on with the one before",
      `let { id, text } = await subject.run("say 1");
for (const i of [2, 3]) text += "\\n" + (await subject.resume(id, "say " + i)).text;
console.log(text);`,
    ],
    [
      "at once",
      `console.log((await Promise.all([1, 2, 3].map((i) => subject.run("say " + i)))).map((r) => r.text).join("\\n"));`,
    ],
  ] as const
) {
  test(
    `a script that runs an agent three times, ${how}, has three tapes by the environment, in the order they began`,
    LONG,
    async () => {
      using here = place();
      putScript(here, "You say it.", runs);
      await using server = await scriptedServer([], { then: ({ messages }) => ({ text: textOf(messages.at(-1)) }) });
      const first = await runScript(here, { CROCHET_TAPE_MODE: "record", ...asked(server) });
      assert.deepEqual([first.out, first.err], ["say 1\nsay 2\nsay 3\n", ""]);
      assert.deepEqual(readdirSync(join(here.cwd, "fixtures")).sort(), ["x", "x-2", "x-3"]);
      const again = await runScript(here, OFFLINE);
      assert.deepEqual([again.out, again.err], [first.out, ""]);
      putScript(here, "You sing it.", runs);
      const renewed = await runScript(here, { CROCHET_TAPE_MODE: "update", ...asked(server) });
      assert.deepEqual([renewed.out, server.requests.length], [first.out, 6]);
      assert.equal((await runScript(here, OFFLINE)).out, first.out);
    },
  );
}

test("a run beyond the recorded ones is reported by its number, and an update records it", LONG, async () => {
  using here = place();
  const say = (runs: number[]) =>
    putScript(
      here,
      "You say it.",
      `for (const i of ${JSON.stringify(runs)}) console.log((await subject.run("say " + i)).text);`,
    );
  await using server = await scriptedServer([], { then: ({ messages }) => ({ text: textOf(messages.at(-1)) }) });
  say([1, 2]);
  await runScript(here, { CROCHET_TAPE_MODE: "record", ...asked(server) });
  say([1, 2, 3]);
  const lacking = await runScript(here, OFFLINE);
  assert.equal(lacking.out, "say 1\nsay 2\n");
  assert.match(lacking.err, /Cannot replay run 3 as there is no tape \S+\/fixtures\/x-3: .*CROCHET_TAPE_MODE=update/);
  const renewed = await runScript(here, { CROCHET_TAPE_MODE: "update", ...asked(server) });
  assert.deepEqual([renewed.out, renewed.err, server.requests.length], ["say 1\nsay 2\nsay 3\n", "", 3]);
  const again = await runScript(here, OFFLINE);
  assert.deepEqual([again.out, again.err], [renewed.out, ""]);
});

test(
  "a problem with a tape of the environment is printed if the script has no listener",
  LONG,
  async () => {
    using here = place();
    const runs = `for (const i of [1, 2]) await subject.run("say hello");`;
    putScript(here, "You say it.", `await subject.run("say hello");`);
    await using server = await scriptedServer([], { then: { text: `Bearer sk-ant-api03-${"a1B2".repeat(20)}` } });
    const shown = await runScript(here, { CROCHET_TAPE_MODE: "record", ...asked(server) });
    assert.match(
      shown.err,
      /^crochet: Cannot write tape .* shows .*: keep it out of the run, or record with --redact\n$/,
    );
    await using harmless = await scriptedServer([{ text: "hello" }]);
    const kept = await runScript(here, { CROCHET_TAPE_MODE: "record", ...asked(harmless) });
    assert.equal(kept.err, "");
    putScript(here, "You say it.", runs);
    assert.equal((await runScript(here, OFFLINE)).err, "", "one tape is replayed as often as it is asked for");
    putScript(here, "You say it.", `await subject.run("say hello", { signal: AbortSignal.abort() });`);
    assert.equal((await runScript(here, OFFLINE)).err, "", "what a person has ended has not drifted");
    putScript(here, "You sing it.", runs);
    const drifted = await runScript(here, OFFLINE);
    assert.match(
      drifted.err,
      /^(?:crochet: Tape \S+fixtures\/x: prompt: system is not what was recorded \(at main#1\)\n {2}- You say it\.\n {2}\+ You sing it\.\n.*\nto record again: .* \(CROCHET_TAPE_MODE=update\)\n){2}$/,
    );
  },
);
