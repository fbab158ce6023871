/**
 * Runs the tests and ends with one line of counts, taken from the runners' own reports; before it, the CPU that they used.
 *
 *     bun run test                  every test but *.more.test.ts under Bun, and what differs by runtime under Deno
 *     bun run test --more           *.more.test.ts, the laws again with more tries, and the rest under Deno
 *     bun run test --all            both, each file once
 *     bun run test test/core        these files or folders, under both
 *     bun run test --since main     of all these, those that a change since that commit reaches by imports, and the house rules
 *     bun run test --list           prints what these run ('bun test/x.test.ts'), and runs nothing
 *     bun run test --times          measures each file alone, and writes its units (cal.ts) to test/times.json
 */
import { execFileSync } from "node:child_process";
import { closeSync, existsSync, globSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { spend, type Spent, unit } from "./_cpu.ts";
import { allEntries, costs, type Entry, keyOf, TIMES } from "./_entries.ts";
import { importsIn, reaching } from "./_imports.ts";
import { type Count, readReport } from "./_report.ts";
import "./_runtime.ts";

/** What `npm test` runs under Deno, and why: the same files run under Bun, so only what the runtime does otherwise. */
const ON_DENO: readonly (readonly [path: string, differs: string])[] = [
  ["test/core/", "the loop: order of promises, timers, errors of the engine"],
  ["test/process/", "child processes: groups, signals, open pipes"],
  ["test/runtime/", "loading of scripts, hashes, versions"],
  ["test/hooks/command.test.ts", "hooks that are commands: what a child reads, writes and inherits"],
  ["test/hooks/hook-files.test.ts", "hook files are imported, and imported again when they have changed"],
  ["test/hooks/http.test.ts", "fetch: redirects, time limits, bodies that end early"],
  ["test/http/endless-answers.test.ts", "sockets: answers that never end, and how they are given up"],
  ["test/models/openai/failures.test.ts", "what fetch throws: each runtime has errors of its own"],
  ["test/regex/search.property.test.ts", "the engine of regular expressions"],
  ["test/replay/replay.test.ts", "a tape: what was recorded is replayed"],
  ["test/testing/matchers.test.ts", "what each runtime names the results of a process"],
  ["test/tools/bash.test.ts", "a shell that outlives its call"],
  ["test/tools/edit-files.test.ts", "files: modes, links, flushing"],
  ["test/tools/read.test.ts", "bytes to text"],
  ["test/log/stores/stores.test.ts", "SQLite: a module of its own in each"],
];

/** More than there are cores, as many tests wait for processes. */
const AT_ONCE = Math.min(availableParallelism() + 2, 8);
/** Parts cost about this much, in units. */
const PART = 6;
/** While each file is measured, the unit is so as often: a busy machine is slower at one time than at another. */
const FILES_A_UNIT = 20;
/** Without a terminal a line is printed this often, in ms. */
const EVERY = 8_000;
/** Lines of tests that passed, and the headings of files in which all did. */
const PASSED = /^(?:\(pass\) .*|.* \.\.\. ok .*)\n|^test\/\S+:\n(?:\(pass\) .*\n)*\n(?=test\/|\n)/gm;

/** What one runner runs: entries of one runtime, with the same counts. */
interface Part {
  readonly name: string;
  readonly entries: readonly Entry[];
  readonly xml: string;
  readonly text: string;
}

const { flags, named } = readArguments();
const reached = flags.since === undefined ? undefined : reachedSince(flags.since);
const everyEntry = allEntries((file) => ON_DENO.some(([path]) => file.startsWith(path)));
const entries = chosen();
if (flags.list) {
  for (const { runtime, file } of entries) console.log(`${runtime} ${file}`);
  process.exit(0);
}
// npm's deno puts its program into place when it first runs: of two at once, one would lose the file that it runs from.
if (entries.some(({ runtime }) => runtime === "deno")) execFileSync("deno", ["--version"], { stdio: "ignore" });
const out = mkdtempSync(join(tmpdir(), "crochet-test-"));
const start = performance.now();
const total: Count = { passed: 0, failed: [], skipped: [] };
const running = new Set<Part>();
let ended = 0, cpu = 0, unitHere: number | undefined;
const atOnce = flags.times ? 1 : AT_ONCE;
const parts = flags.times ? entries.map((entry, i) => partOf(`${i + 1}`, [entry])) : inParts();
say(`${entries.length} files in ${parts.length} parts, ${atOnce} at once`);
const redraw = setInterval(progress, process.stdout.isTTY ? 500 : EVERY);
if (flags.times) await measureEach();
else await runAll();
clearInterval(redraw);
rmSync(out, { recursive: true });
// At the end, so that the tail of a long log shows what failed.
for (const kind of ["skipped", "failed"] as const) {
  if (total[kind].length > 0) say(`\n${kind}:\n${total[kind].map((one) => `  ${one}`).join("\n")}`);
}
if (total.skipped.length > 0) {
  const { noBrowser, noSandbox } = await import("./_needs.ts");
  const { noRecordings } = await import("./_data.ts");
  for (const missing of [noSandbox, noBrowser, noRecordings]) if (missing) say(`skipped as ${missing}`);
}
const skipped = total.skipped.length > 0 ? `, ${total.skipped.length} skipped` : "";
const units = unitHere === undefined ? "" : ` (${(cpu / unitHere).toFixed(1)} units)`;
say(`\n${cpu.toFixed(1)} s of CPU${units} in ${seconds()} s`);
say(`${total.passed} passed, ${total.failed.length} failed${skipped}`);
process.exit(total.failed.length > 0 ? 1 : 0);

function readArguments() {
  try {
    const { values: flags, positionals } = parseArgs({
      options: {
        ...{ more: { type: "boolean" }, all: { type: "boolean" }, times: { type: "boolean" } },
        ...{ list: { type: "boolean" }, since: { type: "string" } },
      },
      allowPositionals: true,
    });
    for (const path of positionals) if (!existsSync(path)) refuse(`Cannot find '${path}'`);
    if (flags.list && flags.times) refuse("Cannot use --times with --list as nothing is run");
    return { flags, named: positionals.map((path) => relative("", resolve(path))) };
  } catch (error) {
    return refuse((error as Error).message);
  }
}

function refuse(why: string): never {
  console.error(why);
  process.exit(2);
}

/** What the arguments ask for. */
function chosen(): Entry[] {
  const isUnder = (path: string) => ({ file }: Entry) => file === path || file.startsWith(`${path}/`) || path === "";
  for (const path of named) if (!everyEntry.some(isUnder(path))) refuse(`Cannot run '${path}' as it has no tests`);
  const asked = everyEntry.filter((entry) =>
    (named.length === 0 || named.some((path) => isUnder(path)(entry))) &&
    (!reached || reached.has(entry.file) || entry.file.startsWith("test/house/"))
  );
  if (flags.more && !flags.all) return asked.filter(({ more }) => more);
  const again = new Set(asked.filter(({ again }) => again).map(({ runtime, file }) => `${runtime} ${file}`));
  // Each once, with the counts of `test:more`; measured are both.
  if (flags.all) return flags.times ? asked : asked.filter((entry) => entry.again || !again.has(keyOf(entry)));
  const quick = asked.filter(({ more }) => !more);
  if (named.length === 0) return quick;
  if (!flags.times) return asked.filter((entry) => !entry.again);
  const files = new Set(quick.map(({ file }) => file));
  return asked.filter(({ more, file }) => !more || named.includes(file) && !files.has(file));
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
  if (other !== undefined) return void console.error(`All tests are run, as any may read ${other}`);
  const found = reaching(changed, importsIn("lib", "test", "fixtures", "hooks"));
  const pages = changed.some((file) => file.endsWith(".md")) ? globSync("test/docs/*.test.ts") : [];
  console.error(`${changed.length} files changed since ${commit}`);
  return new Set([...found, ...pages]);
}

/** Parts of about the same cost, the dearest first. */
function inParts(): Part[] {
  const cost = costs();
  const groups = Map.groupBy(entries, ({ runtime, more }) => `${runtime}${more ? " more" : ""}`);
  return [...groups].flatMap(([group, entries]) => {
    const sum = entries.reduce((sum, entry) => sum + cost(entry), 0);
    const count = Math.min(entries.length, Math.max(2, Math.round(sum / PART)));
    const bins = Array.from({ length: count }, (): { cost: number; entries: Entry[] } => ({ cost: 0, entries: [] }));
    for (const entry of entries.toSorted((a, b) => cost(b) - cost(a))) {
      const cheapest = bins.reduce((a, b) => b.cost < a.cost ? b : a);
      cheapest.entries.push(entry);
      cheapest.cost += cost(entry);
    }
    return bins.map(({ entries, cost }, i) => ({ cost, part: partOf(`${group} ${i + 1}`, entries) }));
  }).sort((a, b) => b.cost - a.cost).map(({ part }) => part);
}

function partOf(name: string, entries: readonly Entry[]): Part {
  return { name, entries, xml: join(out, `${name}.xml`), text: join(out, `${name}.txt`) };
}

async function runAll(): Promise<void> {
  const waiting = [...parts];
  // What is chosen by a person is short: a unit would cost more than it.
  const isWhole = named.length === 0 && flags.since === undefined;
  await Promise.all([
    ...Array.from({ length: AT_ONCE }, async () => {
      for (let part = waiting.shift(); part; part = waiting.shift()) await runPart(part);
    }),
    isWhole && unit().then((measured) => unitHere = measured),
  ]);
}

/** One after the other, each alone; what fails keeps its old figure. */
async function measureEach(): Promise<void> {
  for (const [i, part] of parts.entries()) {
    if (i % FILES_A_UNIT === 0) unitHere = await unit();
    const key = keyOf(part.entries[0]!);
    const spent = await runPart(part);
    const units = Math.round(spent.cpu / unitHere! * 100) / 100;
    say(`${units.toFixed(2)} ${key}${spent.hasFailed ? ", which failed" : ""}`);
    if (!spent.hasFailed) writeTime(key, units);
  }
}

/** At once, so that nothing is lost if the rest is not waited for. */
function writeTime(measured: string, units: number): void {
  const known = new Set(everyEntry.map(keyOf));
  const old: Record<string, number> = JSON.parse(readFileSync(TIMES, "utf8"));
  const all = Object.entries({ ...old, [measured]: units }).filter(([key]) => known.has(key));
  const sorted = Object.fromEntries(all.sort(([a], [b]) => a < b ? -1 : 1));
  writeFileSync(TIMES, `${JSON.stringify(sorted, null, 2)}\n`);
}

async function runPart(part: Part): Promise<{ cpu: number; hasFailed: boolean }> {
  running.add(part);
  const spent = await run(part);
  running.delete(part);
  ended += part.entries.length;
  cpu += spent.cpu;
  const count = readReport(part.xml, part.entries[0]!.runtime);
  if (count.failed.length === 0 && (spent.code !== 0 || count.passed + count.skipped.length === 0)) {
    count.failed.push(`${part.name} ended with code ${spent.code}, and its report has no failed test`);
  }
  const hasFailed = count.failed.length > 0;
  if (hasFailed) say(`\n== ${part.name} ==\n${readFileSync(part.text, "utf8").replace(PASSED, "")}`);
  total.passed += count.passed;
  total.failed.push(...count.failed);
  total.skipped.push(...count.skipped);
  return { cpu: spent.cpu, hasFailed };
}

/** On a terminal one line that is drawn again. */
function progress(): void {
  const begun = [...running].map((part) =>
    // Bun names a file before its tests, Deno does so in a sentence.
    Math.max(0, (readFileSync(part.text, "utf8").match(/^test\/\S+:$|^running \d+ tests? from /gm)?.length ?? 0) - 1)
  ).reduce((a, b) => a + b, 0);
  const line = `${
    ended + begun
  } of ${entries.length} files, ${total.passed} passed, ${total.failed.length} failed, ${seconds()} s`;
  process.stdout.write(process.stdout.isTTY ? `\r${line}\x1b[K` : `${line}\n`);
}

function seconds(): number {
  return Math.round((performance.now() - start) / 1000);
}

function say(text: string): void {
  process.stdout.write(process.stdout.isTTY ? `\r\x1b[K${text}\n` : `${text}\n`);
}

async function run({ entries, xml, text }: Part): Promise<Spent> {
  const [{ runtime, more }] = entries as readonly [Entry];
  const args = runtime === "bun"
    ? ["test", "--reporter=junit", `--reporter-outfile=${xml}`]
    : ["test", "-A", "--no-check", "--quiet", "--preload=test/_seed.ts", `--junit-path=${xml}`];
  // Without CI: recording is refused if it is set, and recording is among what is tested.
  const { CI: _, CROCHET_TEST_MORE: _more, ...env } = process.env;
  const output = openSync(text, "w");
  try {
    return await spend([runtime, ...args, ...entries.map(({ file }) => file)], {
      output,
      env: { ...env, NO_COLOR: "1", ...more ? { CROCHET_TEST_MORE: "1" } : {} },
    });
  } catch (error) {
    say(`Cannot run ${runtime}: ${(error as Error).message}`);
    return { code: 1, cpu: 0 };
  } finally {
    closeSync(output);
  }
}
