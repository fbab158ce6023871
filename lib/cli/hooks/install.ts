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

interface InstallRequest {
  readonly folder: string;
  /** Whether the folder was typed: it is then trusted for this call. */
  readonly typed: boolean;
  readonly place: InstallPlace;
  readonly plugin?: { readonly form: "plugin" | "mod"; readonly to: string };
}

function readAsked({ words, flags }: Flags, io: Io): InstallRequest {
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
  const { cwd } = io;
  const folder = words[0] === undefined ? join(cwd, "hooks") : resolve(io.cwd, words[0]);
  const plugin = readPlugin(flags, host, folder, cwd, io);
  const typed = words[0] !== undefined;
  return { folder, typed, place: { host, scope, cwd, env: io.env }, ...(plugin !== undefined && { plugin }) };
}

function readPlugin(
  { as: form, to, scope, noBelt }: Flags["flags"],
  host: HostName,
  folder: string,
  cwd: string,
  io: Io,
): InstallRequest["plugin"] {
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
  const usual = join(scope === "user" ? homeOf(io.env) : cwd, plugins, basename(folder));
  return { form, to: typeof to === "string" ? resolve(io.cwd, to) : usual };
}

/** Writes the plan unless it is only to be shown, and says what it comes to. */
function finish(plan: Installation, { place }: InstallRequest, flags: Flags["flags"], done: string) {
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
    const asked = readAsked(read, io);
    const { folder, typed, place } = asked;
    const refused = typed ? undefined : distrust(place.cwd, "hooks", io.env);
    if (refused !== undefined) throw new Error(`Cannot install the hooks as ${refused}`);
    const found = await installableIn(folder, place);
    if (asked.plugin !== undefined) {
      const { form, to } = asked.plugin;
      const plan = form === "mod"
        ? await planMod(found, to, place, read.flags.noBelt !== true)
        : await planPlugin(found, to, place);
      if (!read.flags.dryRun) writePlugin(plan, folder, to);
      return answer({ ...plan, changed: true }, place, read.flags, "written");
    }
    const plan = await planInstall(found, place);
    const { data, text } = finish(plan, asked, read.flags, "written");
    const { afterInstall } = HOSTS[place.host].settings;
    const next = plan.entries.length > 0 ? afterInstall?.replace("DIR", () => realOr(place.cwd)) : undefined;
    return { data, text: next === undefined ? text : `${text}${next}\n` };
  }),
};

const UNINSTALL: Usage = {
  name: "hooks uninstall",
  words: "[folder]",
  about: "Takes the hooks of ./hooks, or of another folder, out of the settings of another host again.",
  flags: FLAGS.filter(([flag]) => !/^--(?:runtime|no-belt)/.test(flag)),
  example: "crochet hooks uninstall --for claude --dry-run",
};

export const uninstall = {
  default: command(UNINSTALL, async (read, io) => {
    const asked = readAsked(read, io);
    if (asked.plugin !== undefined) {
      const { to } = asked.plugin;
      const changed = removePlugin(to, asked.place.cwd, read.flags.dryRun === true);
      const plan = { settings: to, entries: [], left: [], changed };
      return answer(plan, asked.place, read.flags, "removed");
    }
    return finish(await planUninstall(asked.folder, asked.place), asked, read.flags, "restored");
  }),
};
