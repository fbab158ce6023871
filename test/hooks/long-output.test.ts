import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { agent, type Message } from "crochet";
import { scripted } from "crochet/testing";
import { Read } from "crochet/tools";
import { fixtureAt } from "../../lib/replay/fixture.ts";
import { runFixture } from "../../lib/replay/run-fixture.ts";
import { put, scratch } from "../_scratch.ts";

const FILES = { "place/a.txt": "one\n", "hooks/user-prompt-submit.long.sh": "seq 1 9000\n" };
const wholeIn = (messages: readonly Message[]) => /Full output saved to: (\S+?)\\n/.exec(JSON.stringify(messages))![1]!;

/** Reads the file that it is told of, from its last line on. */
const reader = (folder: string) =>
  agent({
    model: scripted([], {
      then: ({ messages }) =>
        messages.length === 1
          ? { tools: [{ name: "Read", input: { file_path: wholeIn(messages), offset: 9000 } }] }
          : { text: "done" },
    }),
    tools: [Read],
    hooks: join(folder, "hooks"),
  });

test("long output of a hook is kept whole in a file that Read may read", async () => {
  using folder = scratch(FILES);
  const { messages } = await reader(folder.path).run("go", { cwd: join(folder.path, "place") });
  const [result] = messages[2]!.content as unknown as { content: string }[];
  assert.equal(result!.content, "9000\t9000");
});

test("what a hook says at length is the same when its run is replayed", async () => {
  using folder = scratch(FILES);
  const fixture = fixtureAt(join(folder.path, "fixtures/long"));
  put(fixture.folder, {});
  const cwd = join(folder.path, "place");
  await runFixture(fixture, reader(folder.path), { mode: "record", prompts: ["go"], cwd });
  const { report } = await runFixture(fixture, reader(folder.path));
  assert.deepEqual([report.ok, report.divergences], [true, []]);
});
