import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import type { AnyEvent } from "../../../lib/core/events.ts";
import { discover } from "../../../lib/hooks/discover.ts";
import { HookFolder } from "../../../lib/hooks/folder.ts";
import { sampleEvent } from "../../../lib/hooks/samples.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import { SHIPPED, shipped } from "./_shipped.ts";

const { files, problems } = discover(SHIPPED);

test("every file that is shipped is a hook of a valid name", () => {
  assert.deepEqual(problems, []);
  assert.equal(files.length, 13);
});

test("every shipped hook loads", async () => {
  const folder = new HookFolder(SHIPPED);
  await folder.load();
  assert.deepEqual(folder.problems, []);
  assert.equal(folder.records.length, files.length);
});

test("a shipped hook about Edit and Write is about MultiEdit too: no tool that changes files goes around it", async () => {
  const about = files.filter(({ name }) => name.includes("@Edit+Write"));
  assert.equal(about.length, 5);
  for (const { name } of about) {
    const { record } = await shipped(name, "/p", { model: scripted([]) });
    const [on] = record.on;
    const event = sampleEvent(on!.event, { cwd: "/p", tool: "MultiEdit" }) as unknown as AnyEvent;
    assert.equal(record.misses?.(event), undefined, name);
  }
});

for (const { name, text, kind } of files) {
  test(`shipped ${name} has at most 40 lines and imports types only`, () => {
    assert.ok(text.trimEnd().split("\n").length <= 40);
    for (const [line] of text.matchAll(/^import .*$/gm)) assert.match(line, /^import type .* from "crochet";$/);
    assert.ok(kind === "prompt" || /\/\*\*|^#/m.test(text), "does not say what it is for");
  });
}

test("hooks/README.md names every shipped hook", () => {
  const readme = readFileSync(`${SHIPPED}/README.md`, "utf8");
  for (const name of readdirSync(SHIPPED).filter((n) => n !== "README.md" && !n.endsWith(".examples.yaml"))) {
    assert.ok(readme.includes(`\`${name}\``), `${name} is not in the README`);
  }
});
