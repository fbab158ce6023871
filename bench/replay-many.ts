/** Replays so many different fixtures in this process and prints what it holds after each quarter. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, tool } from "../lib/index.ts";
import { fixtureAt } from "../lib/replay/fixture.ts";
import { runFixture } from "../lib/replay/run-fixture.ts";
import { scripted } from "../lib/testing/index.ts";

const count = Number(process.argv[2] ?? 1000);
const folder = mkdtempSync(join(tmpdir(), "crochet-many-"));
const look = tool<{ query: string }>({
  name: "look",
  description: "Looks something up.",
  input: { type: "object", properties: { query: { type: "string" } } },
  effect: "read",
  run: ({ query }) => `${query} `.repeat(400),
});
const replies = Array.from({ length: 20 }, (_, i) => ({
  text: `Step ${i}`,
  tools: [{ name: "look", input: { query: `thing ${i}` } }],
}));
const options = { name: "bench", system: "You look.", tools: [look] };

try {
  const first = join(folder, "fixture-0");
  mkdirSync(join(first, "files"), { recursive: true });
  writeFileSync(join(first, "files", "a.txt"), "a\n".repeat(1000));
  const model = scripted([...replies, { text: "done" }]);
  await runFixture(fixtureAt(first), agent({ ...options, model }), {
    mode: "record",
    prompts: ["go"],
  });
  const subject = agent({ ...options, model: scripted([]) });
  for (let i = 1; i <= count; i++) {
    const next = join(folder, `fixture-${i}`);
    cpSync(first, next, { recursive: true });
    const tape = join(next, "tape.jsonl");
    // Another tape each time: nothing is known from the one before.
    const text = readFileSync(tape, "utf8").replace(
      /"seed":"\w+"/,
      `"seed":"${i.toString(16).padStart(16, "0")}"`,
    );
    writeFileSync(tape, text);
    const { report } = await runFixture(fixtureAt(next), subject);
    if (!report.ok) throw new Error(`Cannot replay fixture ${i}`);
    rmSync(next, { recursive: true });
    if (i % Math.ceil(count / 4) === 0) {
      console.log(`  after ${String(i).padStart(5)}: ${held()}`);
    }
  }
} finally {
  rmSync(folder, { recursive: true });
}

function held(): string {
  (globalThis as { Bun?: { gc(force: boolean): void } }).Bun?.gc(true);
  const { rss, heapUsed } = process.memoryUsage();
  return `${(heapUsed / 2 ** 20).toFixed(1)} MB heap, ${(rss / 2 ** 20).toFixed(0)} MB resident`;
}
