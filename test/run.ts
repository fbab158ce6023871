/**
 * Runs every test under Bun and at the same time under Deno, as most of them wait for processes, and ends with one line
 * of real counts, taken from all runners' reports. Deno has two processes, as it takes longer. Arguments are passed on as files:
 * `bun run test test/core/loop.test.ts`.
 */
import { spawn } from "node:child_process";
import { globSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface Count {
  passed: number;
  /** The name of each, and what was said of it. */
  failed: string[];
  skipped: string[];
}

const out = mkdtempSync(join(tmpdir(), "crochet-test-"));
const files = process.argv.slice(2);
const runners: [name: string, command: string, args: string[]][] = [
  ["bun", "bun", [
    "test",
    `--timeout=${process.env.CROCHET_TEST_LONG ? 3_600_000 : 600_000}`,
    "--reporter=junit",
    `--reporter-outfile=${join(out, "bun.xml")}`,
    ...files,
  ]],
  ...halves(files.length > 0 ? files : globSync("test/**/*.test.ts").sort()).map((half, i): typeof runners[0] => {
    const name = `deno ${i + 1}`;
    return [name, "deno", ["test", "-A", "--no-check", "--quiet", `--junit-path=${join(out, `${name}.xml`)}`, ...half]];
  }),
];

const total: Count = { passed: 0, failed: [], skipped: [] };
// The first is shown as it goes on, the others when it is their turn.
const runs = runners.map(([name, command, args], i) => {
  const kept = i === 0 ? undefined : join(out, `${name}.txt`);
  return { name, kept, ended: run(command, args, kept ? openSync(kept, "w") : "inherit") };
});
for (const { name, kept, ended } of runs) {
  console.log(`\n== ${name} ==`);
  const code = await ended;
  if (kept) process.stdout.write(readFileSync(kept));
  const count = read(join(out, `${name}.xml`));
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
function halves(all: readonly string[]): string[][] {
  return [0, 1].map((half) => all.filter((_, i) => i % 2 === half)).filter((some) => some.length > 0);
}

function run(command: string, args: string[], output: number | "inherit"): Promise<number> {
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
