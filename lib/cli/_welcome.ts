import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { crochetVersion } from "../runtime/version.ts";
import { isSkipped } from "../hooks/file/file-name.ts";
import { type Environment, shortPath } from "../hooks/file/user-places.ts";
import { type Standing, standings } from "../hooks/hook-trust.ts";
import { FIXTURES, fixturesIn } from "../replay/fixture.ts";
import { agentScripts } from "./kit/find-hooks.ts";
import { report } from "./kit/flags.ts";
import type { Io } from "./kit/io.ts";
import { reporting } from "./kit/report.ts";
import { coloursFor } from "./show/text.ts";
import { quietly } from "../core/json.ts";

type Here = ReturnType<typeof lookAround>;

/** Hooks that many have before they have crochet. */
const SETTINGS = ".claude/settings.json";

/** What a directory has for us: nothing in it is run. */
function lookAround(dir: string, env: Environment) {
  return {
    dir,
    agents: agentScripts(dir),
    // There is no such folder, or it may not be read.
    hooks: (quietly(() => readdirSync(join(dir, "hooks"))) ?? []).filter((name) => !isSkipped(name)).length,
    settings: quietly(() => readFileSync(join(dir, SETTINGS), "utf8"))?.includes('"hooks"') === true,
    standings: standings(dir, env),
    fixtures: fixturesIn(join(dir, FIXTURES)).length,
    key: Boolean(env.ANTHROPIC_API_KEY),
  };
}

type Next = readonly [command: string, about: string];

/** The three commands that fit what was found, most useful first; `known` are those that are here. */
function nextCommands(here: Here, known: readonly string[]): Next[] {
  const { agents: [agent], hooks, settings, standings, fixtures, key } = here;
  const distrusted = standings.filter(({ state }) => state !== "trusted").map(({ thing }) => thing);
  const script = agent === undefined ? "" : `${agent} `;
  const all: (Next | false)[] = [
    agent === undefined && hooks === 0 && fixtures === 0 &&
    ["crochet init", "an agent, a hook and a test that run at once"],
    distrusted.length > 0 && ["crochet trust", `let ${distrusted.join(", ")} run, after a look`],
    fixtures > 0 && ["crochet replay", "run the recorded agents again, without a model"],
    settings && known.includes("hooks check") &&
    [`crochet hooks check ${SETTINGS}`, "what is wrong with hooks of Claude Code, in a scratch project"],
    key && [`crochet run ${script}"say hello"`, agent === undefined ? "the built-in coding agent" : "run the agent"],
    hooks > 0 && ["crochet hooks", "which hooks load, in which order, and why not"],
    !key && ["crochet doctor", "what is missing here, and how to fix it"],
    hooks === 0 && ["crochet hooks add", "hooks that come with crochet"],
    ["crochet agents --all", "the runs and watched agents of this machine"],
  ];
  return all.filter((one) => one !== false).filter(([typed]) => known.includes(typed.split(" ")[1]!)).slice(0, 3);
}

/** `crochet` alone: what this is, what is here, what to do next. */
export function welcome(form: "--json" | undefined, io: Io, known: readonly string[]): number {
  const here = lookAround(io.cwd, io.env);
  const data = { version: crochetVersion(), ...here, next: nextCommands(here, known) };
  const text = screen(data, io.env, coloursFor(io.tty, io.env).bold);
  return report({ data, text }, { json: form !== undefined }, reporting(io, io.cwd));
}

type Screen = Here & { readonly version: string; readonly next: readonly Next[] };

function screen(here: Screen, env: Environment, bold: (text: string) => string): string {
  const { version, dir, agents, hooks, standings, fixtures, key, next } = here;
  const width = Math.max(...next.map(([command]) => command.length)) + 2;
  const others = standings.filter(({ thing }) => thing !== "hooks").map((one) => one.thing + untrusted(one));
  const own = standings.find(({ thing }) => thing === "hooks");
  const found = [
    ["agent", agents.length > 0 ? agents.join(", ") : "none: 'crochet run' brings one"],
    ["hooks", [hooks > 0 ? `${hooks} in hooks/${untrusted(own)}` : "none in hooks/", ...others].join(", ")],
    ["fixtures", fixtures > 0 ? String(fixtures) : "none"],
    ["key", key ? "ANTHROPIC_API_KEY is set" : "ANTHROPIC_API_KEY is not set: replay and tests need none"],
  ] as const;
  return [
    `${bold(`crochet ${version}`)}: write an agent as a script, steer it with hooks, pin it with recorded runs`,
    "",
    `Found in ${shortPath(dir, "\0", env)}`,
    ...found.map(([what, how]) => `  ${what.padEnd(10)}${how}`),
    "",
    "Next",
    ...next.map(([command, about]) => `  ${bold(command.padEnd(width))}${about}`),
    "",
    "crochet help lists every command",
    "",
  ].join("\n");
}

function untrusted(one: Standing | undefined): string {
  return one === undefined || one.state === "trusted" ? "" : ` (${one.state})`;
}
