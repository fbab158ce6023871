/**
 * Whether the tests notice changes of one line in lib: applies each of test/data/mutants.jsonl in a copy, one at a time, and
 * runs the test file that it names; if that is not there or passes, the files of that folder. Exit 1 if one lives, or if
 * more than a third of the lines are gone.
 *
 *     bun run mutants            all
 *     bun run mutants core-16    some
 */
import { spawn } from "node:child_process";
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

interface Mutant {
  readonly id: string;
  readonly file: string;
  readonly line: number;
  readonly was: string;
  readonly now: string;
  readonly killer: readonly string[];
}

const LIST = "test/data/mutants.jsonl";
/** In ms: a change may make a loop of what ended. */
const LIMIT = 180_000;
/** Neither is changed; the first is large. */
const LINKED = ["node_modules", "dist"];

const mutants = readMutants(process.argv.slice(2));
const copy = mkdtempSync(join(tmpdir(), "crochet-mutants-"));
/** Whether these files pass without a change, by their names. */
const unchanged = new Map<string, boolean>();
let caught = 0, gone = 0;
const alive: Mutant[] = [];
try {
  cpSync(".", copy, { recursive: true, filter: (path) => ![...LINKED, ".git"].includes(path) });
  for (const name of LINKED) if (existsSync(name)) symlinkSync(join(process.cwd(), name), join(copy, name));
  for (const mutant of mutants) await judge(mutant);
} finally {
  rmSync(copy, { recursive: true, force: true });
}
console.log(`${caught} of ${mutants.length} caught${gone > 0 ? `, ${gone} gone` : ""}`);
process.exit(alive.length > 0 || gone > mutants.length / 3 ? 1 : 0);

function readMutants(ids: readonly string[]): Mutant[] {
  const all = readFileSync(LIST, "utf8").trim().split("\n").map((line, i): Mutant => {
    try {
      return JSON.parse(line);
    } catch (error) {
      return refuse(`Cannot read ${LIST}:${i + 1} as it is not JSON: ${(error as Error).message}`);
    }
  });
  for (const id of ids) if (!all.some((mutant) => mutant.id === id)) refuse(`Cannot find '${id}' in ${LIST}`);
  return ids.length > 0 ? all.filter(({ id }) => ids.includes(id)) : all;
}

function refuse(why: string): never {
  console.error(why);
  process.exit(2);
}

async function judge(mutant: Mutant): Promise<void> {
  const { id, file, line, was, now } = mutant;
  const path = join(copy, file), before = existsSync(path) ? readFileSync(path, "utf8") : "";
  const lines = before.split("\n");
  const at = lines.flatMap((text, i) => text === was ? [i] : [])
    .sort((a, b) => Math.abs(a + 1 - line) - Math.abs(b + 1 - line))[0];
  if (at === undefined) {
    gone++;
    return console.log(`gone: ${file}:${line} (${id})`);
  }
  writeFileSync(path, lines.with(at, now).join("\n"));
  let failing: string[] | undefined;
  try {
    for (const files of toRun(mutant)) if (!failing && !await pass(files)) failing = files;
  } finally {
    writeFileSync(path, before);
  }
  if (failing && !unchanged.has(failing.join())) unchanged.set(failing.join(), await pass(failing));
  if (failing && !unchanged.get(failing.join())) {
    refuse(`Cannot judge ${id} as this fails without it: ${failing.join(" ")}`);
  }
  if (failing) caught++;
  else alive.push(mutant);
  console.log(
    failing
      ? `caught: ${file}:${at + 1} (${id}) by ${failing.join(" ")}`
      : `alive: ${file}:${at + 1} (${id})\n- ${was}\n+ ${now}`,
  );
}

/** The file named, then the files of its folder and of that which tests the changed one; of `npm test` alone. */
function toRun({ file, killer }: Mutant): string[][] {
  const named = killer.filter((path) => existsSync(path) && !path.endsWith(".more.test.ts"));
  const folders = new Set([...killer.map(dirname), dirname(file).replace(/^lib\/([^/]+).*/, "test/$1")]);
  const others = [...folders].map((folder) => globSync(`${folder}/**/*.test.ts`).sort())
    .map((files) => files.filter((path) => !path.endsWith(".more.test.ts")));
  return [named, ...others].filter((files) => files.length > 0);
}

function pass(files: readonly string[]): Promise<boolean> {
  const { CI: _, ...env } = process.env;
  const child = spawn("bun", ["test", "--bail", ...files], { cwd: copy, env, stdio: "ignore", detached: true });
  // With all that it has started.
  const limit = setTimeout(() => process.kill(-child.pid!, "SIGKILL"), LIMIT);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code) => {
      clearTimeout(limit);
      resolve(code === 0);
    });
  });
}
