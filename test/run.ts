/**
 * Runs the tests and ends with one line of counts, taken from the runners' own reports.
 *
 *     bun run test                  every test under Bun; core, hooks, process, tools, replay and one CLI file under Deno too
 *     bun run test --more           what takes longer (files named *.more.test.ts), and the rest under Deno
 *     bun run test --all            both
 *     bun run test test/core        these files or folders, under both
 *     bun run test --since main     of all these, those that a change since that commit reaches by imports, and the house rules
 *     bun run test --all --times    also writes how long each file took to test/times.json, slowest first
 */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, globSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { noRecordings } from "./_data.ts";
import { importsIn, reaching } from "./_imports.ts";
import { noBrowser, noSandbox } from "./_needs.ts";
import "./_runtime.ts";

type Runtime = "bun" | "deno";

interface Part {
  readonly name: string;
  readonly runtime: Runtime;
  readonly files: string[];
  readonly xml: string;
  readonly text: string;
  seconds: number;
}

interface Count {
  passed: number;
  /** The name of each, and its message. */
  failed: string[];
  skipped: string[];
}

/** More than there are cores, as many tests wait for processes. */
const AT_ONCE = 3;
/** Parts are about this long, in seconds of recorded time. */
const PART = 20;
/** For a file that is not in the record. */
const UNKNOWN = 0.5;
const TIMES = "test/times.json";
/** Lines of tests that passed, and the headings of files in which all did. */
const PASSED = /^(?:\(pass\) .*|.* \.\.\. ok .*)\n|^test\/\S+:\n(?:\(pass\) .*\n)*\n(?=test\/|\n)/gm;

const { values: flags, positionals: named } = parseArgs({
  options: {
    ...{ more: { type: "boolean" }, all: { type: "boolean" }, times: { type: "boolean" } },
    since: { type: "string" },
  },
  allowPositionals: true,
});
for (const path of named.filter((path) => !existsSync(path))) {
  console.error(`Cannot find '${path}'`);
  process.exit(2);
}
const reached = flags.since === undefined ? undefined : reachedSince(flags.since);
const recorded: Record<string, number> = JSON.parse(readFileSync(TIMES, "utf8"));
const out = mkdtempSync(join(tmpdir(), "crochet-test-"));
const timeout = process.env.CROCHET_TEST_LONG ? 3_600_000 : 600_000;
const start = performance.now();
const parts = [...inParts("bun"), ...inParts("deno")].sort((a, b) => b.seconds - a.seconds);
const total: Count = { passed: 0, failed: [], skipped: [] };
/** By runtime and file. */
const times: [key: string, seconds: number][] = [];
const files = parts.reduce((sum, part) => sum + part.files.length, 0);
const running = new Set<Part>();
let ended = 0;
const redraw = process.stdout.isTTY ? setInterval(progress, 500) : undefined;

const waiting = [...parts];
await Promise.all(Array.from({ length: AT_ONCE }, async () => {
  for (let part = waiting.shift(); part; part = waiting.shift()) await runPart(part);
}));
clearInterval(redraw);
rmSync(out, { recursive: true });
if (flags.times) {
  const all = { ...recorded, ...Object.fromEntries(times) };
  const slow = Object.entries(all).filter(([key, seconds]) => seconds >= UNKNOWN && existsSync(key.split(" ")[1]!));
  const rounded = slow.sort((a, b) => b[1] - a[1]).map(([key, seconds]) => [key, Math.round(seconds * 10) / 10]);
  writeFileSync(TIMES, `${JSON.stringify(Object.fromEntries(rounded), null, 2)}\n`);
}
// At the end, so that the tail of a long log shows what failed.
for (const kind of ["skipped", "failed"] as const) {
  if (total[kind].length > 0) say(`\n${kind}:\n${total[kind].map((one) => `  ${one}`).join("\n")}`);
}
if (total.skipped.length > 0) {
  for (const missing of [noSandbox, noBrowser, noRecordings]) if (missing) say(`skipped as ${missing}`);
}
const skipped = total.skipped.length > 0 ? `, ${total.skipped.length} skipped` : "";
say(`\n${total.passed} passed, ${total.failed.length} failed${skipped}`);
process.exit(total.failed.length > 0 ? 1 : 0);

/** The files of a runtime, in parts of about the same recorded time. */
function inParts(runtime: Runtime): Part[] {
  const seconds = (file: string) => recorded[`${runtime} ${file}`] ?? recorded[`bun ${file}`] ?? UNKNOWN;
  const chosen = testFiles().filter((file) => runsUnder(runtime, file)).sort((a, b) => seconds(b) - seconds(a));
  const all = chosen.reduce((sum, file) => sum + seconds(file), 0);
  const parts = Array.from({ length: Math.min(chosen.length, Math.max(2, Math.round(all / PART))) }, (_, i): Part => {
    const name = `${runtime} ${i + 1}`;
    return { name, runtime, files: [], xml: join(out, `${name}.xml`), text: join(out, `${name}.txt`), seconds: 0 };
  });
  for (const file of chosen) {
    const shortest = parts.reduce((a, b) => b.seconds < a.seconds ? b : a);
    shortest.files.push(file);
    shortest.seconds += seconds(file);
  }
  return parts;
}

function testFiles(): string[] {
  const paths = named.length > 0 ? named : ["test"];
  const all = paths.flatMap((path) => statSync(path).isDirectory() ? globSync(`${path}/**/*.test.ts`) : path);
  return reached ? all.filter((file) => reached.has(file) || file.startsWith("test/house/")) : all;
}

/** The files that a change reaches; undefined, which is all, if what changed is not imported but may be read by any test. */
function reachedSince(commit: string): ReadonlySet<string> | undefined {
  const git = (...args: string[]) => execFileSync("git", args, { encoding: "utf8" }).split("\n").filter(Boolean);
  let changed: string[];
  try {
    changed = [...git("diff", "--name-only", commit, "--"), ...git("ls-files", "--others", "--exclude-standard")];
  } catch {
    process.exit(2); // Git has said why.
  }
  const other = changed.find((file) => !/\.(?:ts|md)$/.test(file) || /^(?:fixtures|hooks|test\/data)\//.test(file));
  if (other !== undefined) return void say(`All tests are run, as any may read ${other}`);
  const found = reaching(changed, importsIn("lib", "test", "fixtures", "hooks"));
  const pages = changed.some((file) => file.endsWith(".md")) ? globSync("test/docs/*.test.ts") : [];
  say(`${changed.length} files changed since ${commit}`);
  return new Set([...found, ...pages]);
}

function runsUnder(runtime: Runtime, file: string): boolean {
  // These start both runtimes themselves, or none of ours: a browser, a compiler.
  const once = /^test\/(?:house|docs|package)\/|\.once(?:\.more)?\.test\.ts$/.test(file);
  if (runtime === "deno" && once) return false;
  if (named.length > 0 || flags.all) return true;
  const quick = !file.endsWith(".more.test.ts") &&
    (runtime === "bun" || /^test\/(?:(?:core|hooks|process|tools|replay)\/|cli\/init\.)/.test(file));
  return quick !== Boolean(flags.more);
}

async function runPart(part: Part): Promise<void> {
  running.add(part);
  const code = await run(part);
  running.delete(part);
  ended += part.files.length;
  const count = read(part);
  if (count.failed.length === 0 && (code !== 0 || count.passed + count.skipped.length === 0)) {
    count.failed.push(`${part.name} ended with code ${code}, and its report has no failed test`);
  }
  if (count.failed.length > 0) {
    say(`\n== ${part.name} ==\n${readFileSync(part.text, "utf8").replace(PASSED, "")}`);
  }
  total.passed += count.passed;
  total.failed.push(...count.failed);
  total.skipped.push(...count.skipped);
  progress();
}

/** On a terminal one line that is drawn again; elsewhere a line when a part has ended. */
function progress(): void {
  const begun = [...running].map((part) =>
    // Bun names a file before its tests, Deno does so in a sentence.
    Math.max(0, (readFileSync(part.text, "utf8").match(/^test\/\S+:$|^running \d+ tests? from /gm)?.length ?? 0) - 1)
  ).reduce((a, b) => a + b, 0);
  const seconds = Math.round((performance.now() - start) / 1000);
  const line = `${
    ended + begun
  } of ${files} files, ${total.passed} passed, ${total.failed.length} failed, ${seconds} s`;
  process.stdout.write(process.stdout.isTTY ? `\r${line}\x1b[K` : `${line}\n`);
}

function say(text: string): void {
  process.stdout.write(process.stdout.isTTY ? `\r\x1b[K${text}\n` : `${text}\n`);
}

function run({ runtime, files, xml, text }: Part): Promise<number> {
  const args = runtime === "bun"
    ? ["test", `--timeout=${timeout}`, "--reporter=junit", `--reporter-outfile=${xml}`, ...files]
    : ["test", "-A", "--no-check", "--quiet", "--preload=test/_seed.ts", `--junit-path=${xml}`, ...files];
  const output = openSync(text, "w");
  return new Promise((resolve) => {
    // Without CI: recording is refused if it is set, and recording is among what is tested.
    const { CI: _, ...env } = process.env;
    spawn(runtime, args, { stdio: ["ignore", output, output], env: { ...env, NO_COLOR: "1" } })
      .on("exit", (code) => resolve(code ?? 1))
      .on("error", (error) => {
        say(`Cannot run ${runtime}: ${error.message}`);
        resolve(1);
      });
  });
}

function read({ xml, runtime }: Part): Count {
  const count: Count = { passed: 0, failed: [], skipped: [] };
  let report = "";
  try {
    report = readFileSync(xml, "utf8");
  } catch {
    // A runner that died has no report: its exit code shows that.
  }
  for (const [, suite, cases] of report.matchAll(/<testsuite\b([^>]*)>([\s\S]*?)<\/testsuite>/g)) {
    const key = `${runtime} ${/ name="(?:\.\/)?([^"]*)"/.exec(suite!)![1]}`;
    let seconds = 0;
    for (const [, attributes, , body = ""] of cases!.matchAll(/<testcase\b([^>]*?)(\/>|>([\s\S]*?)<\/testcase>)/g)) {
      const name = `${key}: ${plain(/ name="([^"]*)"/.exec(attributes!)![1]!)}`;
      seconds += Number(/ time="([^"]*)"/.exec(attributes!)?.[1] ?? 0);
      const fault = /<(?:failure|error)\b[^>]*>([^<]*)/.exec(body);
      if (/<skipped\b/.test(body)) count.skipped.push(name);
      else if (fault) count.failed.push([name, ...plain(fault[1]!).split("\n").slice(0, 12)].join("\n    "));
      else count.passed++;
    }
    times.push([key, seconds]);
  }
  return count;
}

function plain(xml: string): string {
  const signs: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&", "#10": "\n" };
  return xml.replace(/&(#?\w+);/g, (written, name) => signs[name] ?? written);
}
