import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { FIXTURES } from "../tape/fixture.ts";

/** What Bun, Deno and vitest take for tests by their names. */
const TEST = /(?:^|[._])(?:test|spec)\.[cm]?[jt]sx?$/;
/** Where a project says what its tests are. */
const SETTINGS = ["bunfig.toml", "deno.json", "deno.jsonc", "package.json", "vitest.config.ts", "vitest.config.js"];

/**
 * Warns of tests among the files that were kept with a fixture: from now on they would run, and fail, as tests of the
 * project. Undefined where there are none, or the project's settings speak of fixtures.
 */
export function keptTests(files: string, cwd: string): string | undefined {
  const [first, ...more] = testsIn(files);
  if (first === undefined || SETTINGS.some((name) => speaksOfFixtures(join(cwd, name)))) return undefined;
  const others = more.length === 0 ? "" : ` and ${more.length} more`;
  return `'bun test' and 'deno test' will run ${relative(cwd, first)}${others}, which only the recorded run needs: ` +
    `put pathIgnorePatterns = ["${FIXTURES}/**"] below [test] of bunfig.toml, ` +
    `or "test": { "exclude": ["${FIXTURES}/"] } into deno.json`;
}

function testsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? testsIn(path) : entry.isFile() && TEST.test(entry.name) ? [path] : [];
  });
}

function speaksOfFixtures(path: string): boolean {
  return existsSync(path) && readFileSync(path, "utf8").includes(FIXTURES);
}
