import { existsSync } from "node:fs";
import { join } from "node:path";
import { homeOf, shortPath } from "../../hooks/file/places.ts";
import { installedFile } from "../../hooks/install.ts";
import { HOST_NAMES, type HostName, HOSTS } from "../../hooks/hosts/index.ts";
import { loadSettings, readSettings } from "../../hooks/settings.ts";
import { isObject } from "../../core/json.ts";
import type { Io } from "../_io.ts";
import { broken, type Check, ok, parted, warning } from "./_check.ts";

/** Where hosts keep their hooks, in a project and in a home. */
const FILES = HOST_NAMES.flatMap((host) =>
  HOSTS[host].settings.files.filter((file) => file.endsWith(".json")).map((file) => ({ host, file }))
);

/** The settings of other hosts, entry by entry: nothing in them is run. */
export async function hostChecks(cwd: string, env: Io["env"]): Promise<Check[]> {
  const home = homeOf(env);
  const found = [...new Set([cwd, home])].flatMap((dir) =>
    FILES.map(({ host, file }) => ({ host, path: join(dir, file) }))
  )
    .filter(({ path }) => existsSync(path));
  const checks: Check[] = [];
  for (const { host, path } of found) {
    const name = shortPath(path, cwd, env);
    const problems = await problemsOf(host, path, cwd);
    checks.push(...problems.map((check) => ({ ...check, about: name })));
    if (problems.length === 0) checks.push(ok(name, `${host} can read it`));
  }
  return checks;
}

async function problemsOf(host: HostName, path: string, cwd: string): Promise<Check[]> {
  const file = { path };
  let settings: Readonly<Record<string, unknown>>;
  try {
    settings = await readSettings(file) ?? {};
  } catch (error) {
    return [broken("", (error as Error).message, `fix the JSON by hand: ${host} cannot read any of it`)];
  }
  const gone = commandsIn(settings.hooks).flatMap(({ at, command }) => goneCheck(host, at, command) ?? []);
  if (!HOSTS[host].likeClaude) return [...shapeProblems(settings.hooks), ...gone];
  const { problems } = await loadSettings([file], { projectDir: cwd });
  return [
    ...problems.map(({ level, message }) => {
      const { words, fix } = parted(message.replace(/^\S+\.json:? ?/, ""));
      return level === "error" ? broken("", words, fix) : warning("", words, fix ?? "look at the entry");
    }),
    ...gone,
  ];
}

interface Found {
  /** Where it stands, such as `hooks.Stop[0].hooks[1]`. */
  readonly at: string;
  readonly command: string;
}

function commandsIn(hooks: unknown): Found[] {
  if (!isObject(hooks)) return [];
  return Object.entries(hooks).flatMap(([event, groups]) =>
    (Array.isArray(groups) ? groups : []).flatMap((group, g) =>
      (Array.isArray(group?.hooks) ? group.hooks : []).flatMap((hook: { command?: unknown }, h: number) =>
        typeof hook?.command === "string" ? [{ at: `hooks.${event}[${g}].hooks[${h}]`, command: hook.command }] : []
      )
    )
  );
}

/** An entry that 'hooks install' wrote and that can no longer start. */
function goneCheck(host: HostName, at: string, command: string): Check | undefined {
  const file = installedFile(command);
  if (file === undefined) return undefined;
  const [, quoted, bare] = /^(?:'((?:[^']|'\\'')+)'|(\S+))/.exec(command) ?? [];
  const missing = [quoted ?? bare, file].find((path) => path?.startsWith("/") && !existsSync(path));
  if (missing === undefined) return undefined;
  return broken("", `${at} starts ${missing}, which is gone`, `crochet hooks install --for ${host} writes it again`);
}

/** The form of settings that are not like Claude Code's, as far as their hooks depend on it. */
function shapeProblems(hooks: unknown): Check[] {
  if (hooks === undefined) return [];
  if (!isObject(hooks)) return [broken("", "hooks is not an object", 'write { "hooks": { "BeforeTool": [ … ] } }')];
  return Object.entries(hooks).flatMap(([event, groups]) => {
    // Beside its events there are switches, such as `enabled`.
    if (!Array.isArray(groups)) return [];
    return groups.flatMap((group: unknown, i) => {
      const at = `hooks.${event}[${i}]`;
      if (event === "disabled") return [];
      return isObject(group) && Array.isArray(group.hooks)
        ? []
        : [broken("", `${at} has no list of hooks`, `write { "matcher": "…", "hooks": [ … ] } at ${at}`)];
    });
  });
}
