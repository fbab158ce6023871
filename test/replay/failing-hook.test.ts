import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { agent } from "../../lib/index.ts";
import { replay, scripted } from "../../lib/testing/index.ts";
import { scratch } from "../_scratch.ts";
import "./_no-ci.ts";

test("a hook that fails is drift, unless the same hook failed with the same words when it was recorded", async () => {
  using here = scratch();
  const failing = (words: string) =>
    agent({
      model: scripted([{ text: "Done." }]),
      hooks: {
        stop: function note() {
          if (words !== "") throw new Error(words);
        },
      },
    });
  const replayed = (words: string, name: string) =>
    replay(failing(words), name, { cwd: here.path }).then(() => "held", ({ message }: Error) => message);
  for (const [name, words] of [["well", ""], ["ill", "boom 4"]] as const) {
    await failing(words).run("go", { tape: { path: join(here.path, "fixtures", name), mode: "record" } });
    assert.equal(await replayed(words, name), "held", name);
  }
  assert.match(await replayed("boom 4", "well"), /\nhook: .* fails at stop: boom 4 \(at main\)/);
  assert.match(await replayed("boom 5", "ill"), /\nhook: .* fails at stop: boom 5 \(at main\)/);
  assert.equal(await replayed("", "ill"), "held", "one that fails no more is as good");
});
