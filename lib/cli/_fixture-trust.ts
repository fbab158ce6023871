import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { isInside } from "../files/confine.ts";
import { realOr } from "../hooks/file/places.ts";
import { areFixturesTrusted } from "../hooks/trust.ts";
import { type Fixture, FIXTURES, fixturesIn, scriptFromTape } from "../tape/fixture.ts";
import { readHeader } from "../tape/read.ts";
import { BUILT_IN } from "../tape/tape.ts";
import type { Flags } from "./_flags.ts";
import type { Io } from "./_io.ts";

/** The project of a fixture: the nearest folder above `fixtures/` or `.crochet/`, else the one the fixture lies in. */
export function fixtureProject(folder: string): string {
  const real = realOr(folder);
  for (let path = real; dirname(path) !== path; path = dirname(path)) {
    if (path !== real && [FIXTURES, ".crochet"].includes(basename(path))) return dirname(path);
  }
  return dirname(real);
}

/** @throws {Error} if what fixtures name may not be run: they came with a checkout that the user has not trusted */
export function expectTrusted(fixtures: readonly Fixture[], { trust }: Flags["flags"], io: Io): void {
  if (trust === true) return;
  const projects = new Set(fixtures.map(({ folder }) => fixtureProject(folder)));
  const [first] = [...projects].filter((project) => !areFixturesTrusted(project, io.env));
  if (first === undefined) return;
  const dir = first === realOr(io.cwd) ? "" : ` ${relative(io.cwd, first) || "."}`;
  throw new Error(
    `Cannot replay: the fixtures of ${first} are not trusted, and a replay runs their agents and tools: ` +
      `look at them, then run 'crochet trust${dir}', or add --trust for this call`,
  );
}

/**
 * The script that a tape names.
 *
 * @throws {Error} if it leads out of the fixture's project
 */
export function tapeScript({ name, folder, tape }: Fixture): string | undefined {
  const { agent } = readHeader(tape);
  if (agent === undefined || agent === BUILT_IN) return agent;
  const script = scriptFromTape(folder, agent);
  const project = fixtureProject(folder);
  if (isInside(realOr(script), project)) return script;
  throw new Error(
    `Cannot replay ${name}: its tape names the agent ${script}, which is outside the project ${project}: ` +
      `put an agent.ts into ${folder}`,
  );
}

/** What a replay of a project's fixtures would run, from the project. */
export function fixtureScripts(project: string): string[] {
  const named = fixturesIn(join(project, FIXTURES)).flatMap((fixture) => {
    try {
      const own = join(fixture.folder, "agent.ts");
      const script = existsSync(own) ? own : tapeScript(fixture);
      return script === undefined || script === BUILT_IN ? [] : [script];
    } catch {
      return []; // replaying it says what is wrong
    }
  });
  const folders = [join(project, FIXTURES), ...fixturesIn(join(project, FIXTURES)).map(({ folder }) => folder)];
  const beside = folders.flatMap((folder) =>
    readdirSync(folder).filter((file) => /^(invariants|grade)\.[^.]+$/.test(file)).map((file) => join(folder, file))
  );
  return [...new Set([...named, ...beside].map((path) => relative(project, path)))].sort();
}
