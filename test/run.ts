/**
 * Runs every test under Bun and under Deno, in parts of which three run at a time, as most tests wait for processes, and
 * ends with one line of real counts, taken from all reports. Arguments are passed on as files:
 * `bun run test test/core/loop.test.ts`.
 */
import { spawn } from "node:child_process";
import { closeSync, globSync, mkdtempSync, openSync, readFileSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

interface Count {
  passed: number;
  /** The name of each, and what was said of it. */
  failed: string[];
  skipped: string[];
}

const AT_ONCE = 3;
/** More than run at a time, so that the last ones end at about the same time. */
const PARTS = 8;

const out = mkdtempSync(join(tmpdir(), "crochet-test-"));
const files = process.argv.slice(2);
const parts = inParts(files.length > 0 ? files : globSync("test/**/*.test.ts").sort());
const timeout = process.env.CROCHET_TEST_LONG ? 3_600_000 : 600_000;
const runtimes = {
  bun: (xml: string) => ["test", `--timeout=${timeout}`, "--reporter=junit", `--reporter-outfile=${xml}`],
  deno: (xml: string) => ["test", "-A", "--no-check", "--quiet", `--junit-path=${xml}`],
};

const total: Count = { passed: 0, failed: [], skipped: [] };
const waiting: (() => void)[] = [];
let free = AT_ONCE;
const runs = parts.flatMap((part, i) =>
  Object.entries(runtimes).map(([runtime, args]) => {
    const name = `${runtime} ${i + 1}`;
    const [xml, text] = [join(out, `${name}.xml`), join(out, `${name}.txt`)];
    const output = openSync(text, "w");
    return { name, xml, text, ended: whenFree(() => run(runtime, [...args(xml), ...part], output)) };
  })
);
for (const { name, xml, text, ended } of runs) {
  console.log(`\n== ${name} ==`);
  await follow(text, ended);
  const code = await ended;
  const count = read(xml);
  if (count.failed.length === 0 && (code !== 0 || count.passed === 0)) {
    count.failed.push(`it ended with code ${code}, ${count.passed} tests passed and none that failed`);
  }
  total.passed += count.passed;
  total.failed.push(...count.failed.map((f) => `${name}: ${f}`));
  total.skipped.push(...count.skipped.map((s) => `${name}: ${s}`));
}
rmSync(out, { recursive: true });
// At the end, so that the tail of a long log says what failed.
for (const kind of ["skipped", "failed"] as const) {
  if (total[kind].length > 0) console.log(`\n${kind}:\n${total[kind].map((one) => `  ${one}`).join("\n")}`);
}
console.log(`\n${total.passed} passed, ${total.failed.length} failed`);
process.exit(total.failed.length > 0 ? 1 : 0);

/** Neighbours apart: they test the same, and take about as long. */
function inParts(all: readonly string[]): string[][] {
  const parts = Array.from({ length: PARTS }, (_, part) => all.filter((_, i) => i % PARTS === part));
  return parts.filter((part) => part.length > 0);
}

async function whenFree<T>(work: () => Promise<T>): Promise<T> {
  if (free > 0) free--;
  else await new Promise<void>((go) => waiting.push(go));
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else free++;
  }
}

/** Shows a file while it grows, until what writes it has ended. */
async function follow(path: string, ended: Promise<unknown>): Promise<void> {
  let isOver = false;
  ended.then(() => isOver = true);
  const file = openSync(path, "r");
  const bytes = new Uint8Array(2 ** 16);
  for (;;) {
    const last = isOver;
    for (let read = readSync(file, bytes); read > 0; read = readSync(file, bytes)) {
      process.stdout.write(bytes.slice(0, read));
    }
    if (last) break;
    await Promise.race([ended, sleep(500)]);
  }
  closeSync(file);
}

function run(command: string, args: string[], output: number): Promise<number> {
  return new Promise((resolve) => {
    // Without CI: recording is refused where it is set, and recording is among what is tested.
    const { CI: _, ...env } = process.env;
    spawn(command, args, { stdio: ["inherit", output, output], env: { ...env, NO_COLOR: "1" } })
      .on("exit", (code) => resolve(code ?? 1))
      .on("error", (error) => {
        console.log(`Cannot run ${command}: ${error.message}`);
        resolve(1);
      });
  });
}

function read(path: string): Count {
  const count: Count = { passed: 0, failed: [], skipped: [] };
  let xml = "";
  try {
    xml = readFileSync(path, "utf8");
  } catch {
    // A runner that died has no report: its code and the count of nothing say so.
  }
  for (const [, attributes, , body = ""] of xml.matchAll(/<testcase\b([^>]*?)(\/>|>([\s\S]*?)<\/testcase>)/g)) {
    const name = plain(/ name="([^"]*)"/.exec(attributes!)?.[1] ?? "?");
    const fault = /<(?:failure|error)\b[^>]*>([^<]*)/.exec(body);
    if (/<skipped\b/.test(body)) count.skipped.push(name);
    else if (fault) count.failed.push([name, ...plain(fault[1]!).split("\n").slice(0, 12)].join("\n    "));
    else count.passed++;
  }
  return count;
}

function plain(xml: string): string {
  const signs: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&", "#10": "\n" };
  return xml.replace(/&(#?\w+);/g, (written, name) => signs[name] ?? written);
}
