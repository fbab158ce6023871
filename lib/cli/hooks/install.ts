import { basename, join, resolve } from "node:path";
import { shellWord } from "../../core/shown.ts";
import { nearest } from "../../input/nearest.ts";
import { homeOf, realOr } from "../../hooks/file/user-places.ts";
import { HOST_NAMES, type HostName, HOSTS, isHost, isTried, unseenIn } from "../../hooks/hosts/index.ts";
import {
  carryOut,
  installableIn,
  type Installation,
  type InstallPlace,
  planInstall,
  planUninstall,
} from "../../hooks/install.ts";
import { installedFile } from "../../hooks/install-line.ts";
import { planMod } from "../../hooks/install-mod.ts";
import { planPlugin, removePlugin, writePlugin } from "../../hooks/install-plugin.ts";
import { distrust, standings, trust } from "../../hooks/hook-trust.ts";
import { pathFrom } from "../show/call-subject.ts";
import { command, type Flags, type Usage } from "../kit/flags.ts";
import { type Io, UsageError } from "../kit/io.ts";

const FLAGS: Usage["flags"] = [
  ["--for <host>", HOST_NAMES.join(", ")],
  ["--scope <scope>", "project (shared), local or user (project)"],
  [
    "--as <form>",
    "plugin: a plugin of Claude Code with copies of the hooks; mod: one that runs them inside Claude Code",
  ],
  ["--to <dir>", "the folder of the plugin (.claude/skills/ and the name of the hooks' folder)"],
  ["--no-belt", "mod: leave out the settings hooks that refuse where the mod is not loaded"],
  ["--dry-run", "show what would be written, and write nothing"],
  ["--json", "print JSON"],
];

function readAsked({ words, flags }: Flags, io: Io) {
  const host = flags.for;
  if (!isHost(host)) {
    const hint = typeof host === "string"
      ? `did you mean '${nearest(host, HOST_NAMES)}'?`
      : `--for ${HOST_NAMES.join(", ")}`;
    throw new UsageError(`Cannot install hooks for '${host ?? ""}' as that host is not known: ${hint}`);
  }
  const scope = flags.scope ?? "project";
  if (scope !== "project" && scope !== "local" && scope !== "user") {
    throw new UsageError(`Cannot use scope '${scope}': expected project, local or user`);
  }
  const { cwd, env } = io;
  const folder = resolve(cwd, words[0] ?? "hooks");
  const place: InstallPlace = { host, scope, cwd, env };
  return { folder, place, plugin: readPlugin(flags, host, folder, io) };
}

function readPlugin({ as: form, to, scope, noBelt }: Flags["flags"], host: HostName, folder: string, { cwd, env }: Io) {
  if (form !== "mod" && noBelt !== undefined) throw new UsageError("Cannot use --no-belt without --as mod");
  if (form === undefined && to === undefined) return undefined;
  if (form !== "plugin" && form !== "mod") {
    throw new UsageError(`Cannot install as '${form ?? ""}': write --as plugin or --as mod`);
  }
  const { plugins } = HOSTS[host].settings;
  if (plugins === undefined) {
    const only = form === "mod" ? "only claude has mods" : "only --for claude makes one";
    throw new UsageError(`Cannot install as '${form}' for ${host}: ${only}`);
  }
  if (form === "plugin" && scope !== undefined) {
    throw new UsageError("Cannot use --scope for a plugin: it is where --to says");
  }
  if (scope === "local") throw new UsageError("Cannot install a mod in scope local: project or user");
  const usual = join(scope === "user" ? homeOf(env) : cwd, plugins, basename(folder));
  return { form, to: typeof to === "string" ? resolve(cwd, to) : usual };
}

/** Writes the plan unless it is only to be shown, and says what it comes to. */
function finish(plan: Installation, place: InstallPlace, flags: Flags["flags"], done: string) {
  const dry = flags.dryRun === true;
  const changed = plan.before !== plan.after;
  const { host, scope, cwd, env } = place;
  // A settings file of this project that was trusted stays so: only we have changed it.
  const ours = HOSTS[host].settings.isOurs && scope === "project";
  const thing = ".claude/settings.json" as const;
  const keepTrust = ours && changed && !dry &&
    (plan.before === undefined || standings(cwd, env).some((s) => s.thing === thing && s.state === "trusted"));
  if (!dry) carryOut(plan, env);
  if (keepTrust) trust(cwd, env, thing);
  return answer({ ...plan, changed }, place, flags, done);
}

interface Planned extends Pick<Installation, "settings" | "entries" | "left"> {
  readonly changed: boolean;
  readonly notes?: readonly string[];
}

function answer(
  { settings, entries, left, changed, notes = [] }: Planned,
  { host, cwd }: InstallPlace,
  { dryRun: dry }: Flags["flags"],
  done: string,
) {
  const untried = [...new Set(entries.map(({ event }) => event))].filter((event) => !isTried(host, event));
  const unseen = entries.length > 0 ? unseenIn(host) : [];
  const lines = [
    ...entries.map(({ event, matcher, hook }) =>
      `  ${[event, matcher].filter(Boolean).join(" ")}: ${shortLine(hook.command, cwd)}\n`
    ),
    ...left.map(({ name, why }) => `  left out ${name}: ${why}\n`),
    ...untried.map((event) => `  ${event} is known by the documents of ${host} alone: no run here has shown it\n`),
    ...[...notes, ...unseen].map((note) => `  ${note}\n`),
    `${settings}: ${!changed ? "nothing to change" : dry ? `would be ${done}` : done}\n`,
  ];
  const data = { settings, changed, written: changed && !dry, entries, left, untried, notes, unseen };
  return { data, text: lines.join("") };
}

/** A line as a person reads it: how it finds crochet, and what it says without, is in the file and in --json. */
function shortLine(line: string, cwd: string): string {
  const file = installedFile(line, realOr(cwd));
  return file === undefined ? line : `crochet hook ${shellWord(pathFrom(realOr(cwd), file))}`;
}

const INSTALL: Usage = {
  name: "hooks install",
  words: "[folder]",
  about:
    "Writes the hooks of ./hooks, or of another folder, into the settings of another host, at the ends of its lists.",
  flags: FLAGS,
  example: "crochet hooks install --for claude --dry-run",
};

export const install = {
  default: command(INSTALL, async (read, io) => {
    const { folder, place, plugin } = readAsked(read, io);
    // A folder that was typed is trusted for this call.
    const refused = read.words.length > 0 ? undefined : distrust(place.cwd, "hooks", io.env);
    if (refused !== undefined) throw new Error(`Cannot install the hooks as ${refused}`);
    const found = await installableIn(folder, place);
    if (plugin !== undefined) {
      const { form, to } = plugin;
      const plan = form === "mod"
        ? await planMod(found, to, place, read.flags.noBelt !== true)
        : await planPlugin(found, to, place);
      if (!read.flags.dryRun) writePlugin(plan, folder, to);
      return answer({ ...plan, changed: true }, place, read.flags, "written");
    }
    const plan = await planInstall(found, place);
    const { data, text } = finish(plan, place, read.flags, "written");
    const { afterInstall } = HOSTS[place.host].settings;
    const next = plan.entries.length > 0 ? afterInstall?.replace("DIR", () => realOr(place.cwd)) : undefined;
    return { data, text: next === undefined ? text : `${text}${next}\n` };
  }),
};

const UNINSTALL: Usage = {
  name: "hooks uninstall",
  words: "[folder]",
  about: "Takes the hooks of ./hooks, or of another folder, out of the settings of another host again.",
  flags: FLAGS.filter(([flag]) => flag !== "--no-belt"),
  example: "crochet hooks uninstall --for claude --dry-run",
};

export const uninstall = {
  default: command(UNINSTALL, async (read, io) => {
    const { folder, place, plugin } = readAsked(read, io);
    if (plugin === undefined) return finish(await planUninstall(folder, place), place, read.flags, "restored");
    const changed = removePlugin(plugin.to, place.cwd, read.flags.dryRun === true);
    return answer({ settings: plugin.to, entries: [], left: [], changed }, place, read.flags, "removed");
  }),
};
