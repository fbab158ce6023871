import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { agent, anthropic } from "../../lib/index.ts";
import { fixtureAt } from "../../lib/tape/fixture.ts";
import { keepFiles } from "../../lib/tape/record/keep-files.ts";
import { runFixture } from "../../lib/tape/run-fixture.ts";
import { type ScriptedReply, scriptedServer } from "../../lib/testing/index.ts";
import { Bash, BashOutput, Edit, Glob, Grep, KillShell, MultiEdit, Read, Write } from "../../lib/tools/index.ts";
import { inFolder } from "./_stage.ts";
import { put } from "../_scratch.ts";

const uses = (...tools: [string, object][]): ScriptedReply => ({
  tools: tools.map(([name, input]) => ({ name, input })),
});
const bash = (command: string, more: object = {}): [string, object] => ["Bash", {
  command,
  description: "Do it",
  ...more,
}];

/** What each built-in tool tells the model, also where it fails or has much to say. */
const REPLIES: ScriptedReply[] = [
  uses(["Read", { file_path: "a.txt" }], ["Read", { file_path: "absent.txt" }], ["Read", { file_path: "src" }]),
  uses(["Write", { file_path: "new/b.txt", content: "b\n" }], ["Glob", { pattern: "**/*" }]),
  uses(["Edit", { file_path: "a.txt", old_string: "one", new_string: "two" }]),
  uses(["MultiEdit", { file_path: "a.txt", edits: [{ old_string: "x", new_string: "y" }] }]),
  uses(["Grep", { pattern: "needle", output_mode: "content" }], ["Grep", { pattern: "needle" }]),
  uses(["Grep", { pattern: "needle", output_mode: "count" }], ["Grep", { pattern: "(", output_mode: "content" }]),
  uses(bash("pwd; echo $HOME; cd src; ls")),
  uses(bash("pwd; seq 1 9000")),
  uses(bash("seq 1 9000 >&2; exit 3")),
  uses(bash("sleep 5", { timeout: 200 })),
  uses(bash("echo begun; sleep 60", { run_in_background: true })),
  uses(bash("sleep 0.3"), ["KillShell", { shell_id: "bash_1" }], ["BashOutput", { bash_id: "bash_1" }]),
  { text: "Done." },
];

test("what the built-in tools say is always the same again, in another directory and at another time", {
  timeout: 240_000,
}, async () => {
  await inFolder(async (folder) => {
    put(join(folder, "place"), {
      "a.txt": "one\nneedle\n",
      "src/c.ts": "needle();\n",
      "src/deep/d.ts": "// needle\n",
      "z.md": "z\n",
    });
    const fixture = join(folder, "fixtures/tools");
    keepFiles(join(folder, "place"), fixture, []);
    await using server = await scriptedServer(REPLIES);
    const worker = agent({
      system: "You try tools.",
      tools: [Bash, BashOutput, Edit, Glob, Grep, KillShell, MultiEdit, Read, Write],
      model: anthropic({ baseURL: server.url, apiKey: "not-a-key" }),
    });
    const { result } = await runFixture(fixtureAt(fixture), worker, { mode: "record", prompts: ["Try them"] });
    assert.deepEqual([result.stop, result.error], ["done", undefined]);
    server.done();
    for (const wire of [false, true]) {
      const { report } = await runFixture(fixtureAt(fixture), worker, { wire });
      assert.deepEqual(report.divergences, []);
      assert.equal(report.ok, true, JSON.stringify(report.files));
    }
  });
});
