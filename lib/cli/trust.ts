import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  allTrusted,
  hookImports,
  revoke,
  standings,
  trust,
  type TrustedFile,
  trustedFiles,
  trustedThings,
} from "../hooks/trust.ts";
import { FIXTURES } from "../tape/fixture.ts";
import { fixtureScripts } from "./_fixtures.ts";
import { command, type Usage } from "./_flags.ts";
import { EXIT, type Io, UsageError } from "./_io.ts";

const USAGE: Usage = {
  name: "trust",
  words: "[dir]",
  about: "Allows the hooks of a directory to run until one of their files changes, and the agents and tools that its " +
    "fixtures/ name, even if these change.",
  flags: [
    ["--list", "list what is trusted and what has changed since"],
    ["--revoke", "stop trusting it"],
    ["--json", "print JSON"],
  ],
  example: "crochet trust",
};

export default command(USAGE, async ({ words, flags }, io) => {
  const dir = resolve(io.cwd, words[0] ?? ".");
  if (flags.list) return list(flags.json === true, io);
  if (flags.revoke) return take(dir, flags.json === true, io);
  if (!existsSync(dir)) throw new UsageError(`Cannot trust '${dir}' as there is no such directory`);
  const found = standings(dir, io.env);
  const refused = found.filter(({ state }) => state === "refused");
  if (refused.length > 0) {
    throw new Error(`Cannot trust ${dir}: ${refused.map(({ why }) => why).join(", ")}: put a plain file in its place`);
  }
  const hasFixtures = existsSync(join(dir, FIXTURES));
  if (found.length === 0 && !hasFixtures) {
    const none = "no hooks, settings, hooks.yaml, .agent/hook.toml, .mcp.json or fixtures";
    io.out(flags.json ? `${JSON.stringify({ dir, trusted: [] })}\n` : `nothing in ${dir} needs trust: ${none}\n`);
    return EXIT.ok;
  }
  const isFirst = found.every(({ state }) => state === "untrusted");
  const files = trustedFiles(dir, io.env);
  const made = trust(dir, io.env);
  const fixtures = hasFixtures ? fixtureScripts(dir) : undefined;
  const { outside } = hookImports(dir);
  if (flags.json) {
    const trusted = [...trustedThings(made), ...(hasFixtures ? [FIXTURES] : [])];
    io.out(`${JSON.stringify({ dir: made.dir, trusted, files, imports: outside, fixtures: fixtures ?? [] })}\n`);
  } else {
    if (files.length > 0) io.out(shown(made.dir, files, isFirst, outside));
    if (fixtures) {
      io.out(`trusted in ${made.dir}, also when it changes:\n  ${FIXTURES}/\n`);
      if (fixtures.length > 0) io.out(`    a replay runs ${fixtures.join(", ")}\n`);
    }
  }
  return EXIT.ok;
});

function shown(dir: string, files: readonly TrustedFile[], isFirst: boolean, outside: readonly string[]): string {
  const calls = files.some(({ file, state }) => !file.startsWith("hooks/") && state !== "gone");
  return [
    `trusted in ${dir}, as it is now:`,
    ...files.map(({ file, state }) => `  ${file}${isFirst || state === "same" ? "" : ` (${state})`}`),
    ...(outside.length > 0 ? [`Hook modules also import, not covered: ${outside.join(", ")}`] : []),
    ...(calls ? ["What their commands call is not covered: scripts elsewhere can change without being noticed."] : []),
    "",
  ].join("\n");
}

function list(json: boolean, io: Io): number {
  const all = allTrusted(io.env).map((one) => {
    const { dir, at, fixtures } = one;
    const now = existsSync(dir) ? standings(dir, io.env) : [];
    const things = trustedThings(one).map((thing) => ({
      thing,
      state: now.find((s) => s.thing === thing)?.state ?? "gone",
    }));
    const changed = existsSync(dir) ? trustedFiles(dir, io.env).filter(({ state }) => state !== "same") : [];
    return { dir, at, things: fixtures ? [...things, { thing: FIXTURES, state: "trusted" }] : things, changed };
  });
  if (json) io.out(`${JSON.stringify(all, null, 2)}\n`);
  else if (all.length === 0) io.out("nothing is trusted\n");
  else {
    for (const { dir, at, things, changed } of all) {
      io.out(`${dir} (${at})\n${things.map(({ thing, state }) => `  ${thing}: ${state}\n`).join("")}`);
      for (const { file, state } of changed) io.out(`    ${file} is ${state}\n`);
    }
  }
  return EXIT.ok;
}

function take(dir: string, json: boolean, io: Io): number {
  const known = revoke(dir, io.env);
  const words = known ? "is no longer trusted; runs that have begun keep its hooks" : "was not trusted";
  io.out(json ? `${JSON.stringify({ dir, revoked: known })}\n` : `${dir} ${words}\n`);
  return EXIT.ok;
}
