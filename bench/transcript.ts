/** Storage against its floors, in one interleaved run: an append early and late, an append against a bare one, opening against parsing. */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Message } from "../lib/core/messages.ts";
import { jsonlStore } from "../lib/log/stores/jsonl.ts";
import { median } from "./_measure.ts";

const dir = mkdtempSync(join(tmpdir(), "crochet-bench-"));
const store = jsonlStore(dir);
const message = (n: number): Message => ({
  role: n % 2 ? "assistant" : "user",
  content: [{ type: "text", text: `${n} `.repeat(200) }],
});
const line = Buffer.from(`${JSON.stringify({ type: "message", index: 0, message: message(0) })}\n`);

async function append(id: string, from: number, count: number): Promise<number> {
  const start = performance.now();
  for (let n = from; n < from + count; n++) {
    await store.append(id, [{ type: "message", index: n, message: message(n) }]);
  }
  return (performance.now() - start) / count;
}

function bare(fd: number, count: number): number {
  const start = performance.now();
  for (let n = 0; n < count; n++) {
    writeSync(fd, line);
    fdatasyncSync(fd);
  }
  return (performance.now() - start) / count;
}

const fd = openSync(join(dir, "bare"), "a");
await append("long", 0, 10_000);
const early: number[] = [];
const late: number[] = [];
const floor: number[] = [];
for (let round = 0; round < 15; round++) {
  early.push(await append(`short${round}`, 10, 100));
  late.push(await append("long", 10_000 + round * 100, 100));
  floor.push(bare(fd, 100));
}
closeSync(fd);

const open: number[] = [];
const parse: number[] = [];
const file = join(dir, "long.jsonl");
for (let round = 0; round < 9; round++) {
  let start = performance.now();
  await store.load("long");
  open.push(performance.now() - start);
  start = performance.now();
  const text = readFileSync(file, "utf8");
  JSON.parse(`[${text.slice(0, -1).replaceAll("\n", ",")}]`);
  parse.push(performance.now() - start);
}
rmSync(dir, { recursive: true });

const row = (name: string, ratio: number, aim: string) =>
  console.log(`${name.padEnd(58)}${ratio.toFixed(2)}x   aim ${aim}`);
row("append at message 10,000 against message 10", median(late) / median(early), "<= 1.2");
row("append with fdatasync against bare write + fdatasync", median(late) / median(floor), "<= 1.3");
row("opening 11,500 messages against parsing the same bytes", median(open) / median(parse), "<= 2");
