import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { shellWord } from "../core/shown.ts";
import {
  allTrusted,
  hookImports,
  revoke,
  standings,
  trust,
  type TrustedFile,
  trustedFiles,
  trustedThings,
  trustFixtures,
} from "../hooks/hook-trust.ts";
import { fixtureScripts, runsIn } from "./kit/known-fixtures.ts";
import { command, type Usage } from "./kit/flags.ts";
import { type Io, UsageError } from "./kit/io.ts";
import { openText } from "./show/text.ts";

const USAGE: Usage = {
  name: "trust",
  words: "[dir]",
  about:
    "Allows the hooks of a directory to run until one of their files changes, the agents and tools of each fixture " +
    "that is there now, even if these change, and the commands of other programs' fixtures, until their words change.",
  flags: [
    ["--list", "list what is trusted and what has changed since"],
    ["--revoke", "stop trusting it"],
    ["--json", "print JSON"],
  ],
  example: "crochet trust",
};

export default command(USAGE, async ({ words, flags }, io) => {
  const dir = resolve(io.cwd, words[0] ?? ".");
  if (flags.list) return list(io);
  if (flags.revoke) {
    const revoked = revoke(dir, io.env);
    const how = revoked ? "is no longer trusted; runs that have begun keep its hooks" : "was not trusted";
    return { data: { dir, revoked }, text: `${dir} ${how}\n` };
  }
  if (!existsSync(dir)) throw new UsageError(`Cannot trust '${dir}' as there is no such directory`);
  const found = standings(dir, io.env);
  const refused = found.filter(({ state }) => state === "refused");
  if (refused.length > 0) {
    throw new Error(`Cannot trust ${dir}: ${refused.map(({ why }) => why).join(", ")}: put a plain file in its place`);
  }
  const runs = runsIn(dir);
  const hasFixtures = Object.keys(runs).length > 0;
  if (found.length === 0 && !hasFixtures) {
    const none = "no hooks, settings, hooks.yaml, .agent/hook.toml, .mcp.json or fixtures";
    return { data: { dir, trusted: [] }, text: `nothing in ${dir} needs trust: ${none}\n` };
  }
  const isFirst = found.every(({ state }) => state === "untrusted");
  const files = trustedFiles(dir, io.env);
  const made = trust(dir, io.env);
  await trustFixtures(dir, io.env, runs);
  const fixtures = hasFixtures ? fixtureScripts(dir) : [];
  const { outside } = hookImports(dir);
  const trusted = [...trustedThings(made), ...Object.keys(runs)];
  const commands = Object.fromEntries(Object.entries(runs).filter(([, words]) => words.length > 0));
  const text = [
    files.length > 0 ? shown(made.dir, files, isFirst, outside) : "",
    hasFixtures ? `trusted in ${made.dir}, also when they change:\n` : "",
    ...Object.entries(runs).map(([path, words]) => {
      const command = openText(words.map(shellWord).join(" ")).replaceAll("\n", "\\n");
      return `  ${path}${words.length === 0 ? "" : `, until its command changes: ${command}`}\n`;
    }),
    fixtures.length > 0 ? `    a replay runs ${fixtures.join(", ")}\n` : "",
  ].join("");
  return { data: { dir: made.dir, trusted, files, imports: outside, fixtures, commands }, text };
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

function list(io: Io) {
  const all = allTrusted(io.env).map((one) => {
    const { dir, at, fixtures } = one;
    const now = existsSync(dir) ? standings(dir, io.env) : [];
    const things = trustedThings(one).map((thing) => ({
      thing,
      state: now.find((s) => s.thing === thing)?.state ?? "gone",
    }));
    const changed = existsSync(dir) ? trustedFiles(dir, io.env).filter(({ state }) => state !== "same") : [];
    const runs = existsSync(dir) ? runsIn(dir) : {};
    const recorded = Object.entries(fixtures).map(([thing, words]) => ({
      thing,
      state: !runs[thing] ? "gone" : JSON.stringify(runs[thing]) === JSON.stringify(words) ? "trusted" : "changed",
    }));
    return { dir, at, things: [...things, ...recorded], changed };
  });
  const lines = all.flatMap(({ dir, at, things, changed }) => [
    `${dir} (${at})\n`,
    ...things.map(({ thing, state }) => `  ${thing}: ${state}\n`),
    ...changed.map(({ file, state }) => `    ${file} is ${state}\n`),
  ]);
  return { data: all, text: lines.join("") || "nothing is trusted\n" };
}
