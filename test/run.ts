/**
 * Runs every test under Bun and at the same time under Deno, as most of them wait for processes, and ends with one line
 * of real counts, taken from both runners' reports. Arguments are passed on as files:
 * `bun run test test/core/loop.test.ts`.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface Count {
  passed: number;
  failed: number;
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
  ["deno", "deno", ["test", "-A", "--no-check", "--quiet", `--junit-path=${join(out, "deno.xml")}`, ...files]],
];

let broken = false;
const total: Count = { passed: 0, failed: 0, skipped: [] };
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
  if (code !== 0 && count.failed === 0) {
    console.log(`${name} ended with code ${code} and reported no failed test`);
    broken = true;
  }
  if (count.passed === 0) broken = true;
  total.passed += count.passed;
  total.failed += count.failed;
  total.skipped.push(...count.skipped.map((s) => `${name}: ${s}`));
}
rmSync(out, { recursive: true });
if (total.skipped.length > 0) console.log(`\nskipped:\n${total.skipped.map((s) => `  ${s}`).join("\n")}`);
if (broken && total.failed === 0) total.failed = 1;
console.log(`\n${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed > 0 ? 1 : 0);

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
  let xml: string;
  try {
    xml = readFileSync(path, "utf8");
  } catch {
    return { passed: 0, failed: 0, skipped: [] };
  }
  const count: Count = { passed: 0, failed: 0, skipped: [] };
  for (const [, attributes, , body = ""] of xml.matchAll(/<testcase\b([^>]*?)(\/>|>([\s\S]*?)<\/testcase>)/g)) {
    if (/<skipped\b/.test(body)) count.skipped.push(/ name="([^"]*)"/.exec(attributes!)?.[1] ?? "?");
    else if (/<(failure|error)\b/.test(body)) count.failed++;
    else count.passed++;
  }
  return count;
}
