import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { kebab, resolveEvent } from "../../../core/names.ts";
import { homeOf } from "../../../hooks/file/places.ts";
import { readToml } from "../../../hooks/file/read-toml.ts";
import type { Host } from "../../../hooks/serving/from-host.ts";
import { isObject } from "../../../core/json.ts";
import { readHandler } from "../../../hooks/setting/handler.ts";
import { readSettings } from "../../../hooks/setting/settings-file.ts";
import { CLAUDE_ONLY } from "../../arbitraries/host-events.ts";
import { ownerOf, readFrontmatter } from "./_frontmatter.ts";
import { type FindOptions, shortened } from "./find.ts";
import { type From, settingsSubject } from "./_settings-subject.ts";
import { SHAPES } from "../laws/shapes.ts";
import type { FoundSubjects, Subject } from "../subject.ts";

/** What hooks of hosts can be. */
const TYPES = ["command", "http", "prompt", "agent", "mcp_tool"];

/** The hooks of a host's settings, or of a plugin's hooks.json: run as the host would run them. */
export async function settingsSubjects(path: string, options: FindOptions): Promise<FoundSubjects> {
  const shown = shortened(path, options.cwd);
  const settings = await readAny(path, shown);
  const hooks = settings?.hooks;
  if (hooks === undefined) return { subjects: [], problems: unwrapped(settings, shown, path, options) };
  if (!isObject(hooks)) return { subjects: [], problems: [`${shown}: Cannot read the hooks as they are no object`] };
  const from = placeOf(path, options);
  const subjects: Subject[] = [];
  const problems: string[] = [];
  const wrong = (at: string, why: string) => void problems.push(`${shown}: Cannot use ${at} as ${why}`);
  let n = 0;
  for (const [event, groups] of Object.entries(hooks)) {
    if (!isEvent(event, from.host)) {
      problems.push(`${shown}: Cannot check hooks of '${event}' as ${from.host} has no such event: they never run`);
      continue;
    }
    if (!Array.isArray(groups)) {
      wrong(`hooks.${event}`, 'it is no list: write [{ "hooks": [ … ] }]');
      continue;
    }
    for (const [i, group] of groups.entries()) {
      const at = `hooks.${event}[${i}]`;
      if (!isObject(group) || !Array.isArray(group.hooks)) {
        wrong(at, "it has no list of hooks: the host drops the whole file for it");
        continue;
      }
      for (const [k, entry] of group.hooks.entries()) {
        const handler = readHandler(entry, `${at}.hooks[${k}]`);
        if ("mend" in handler) {
          wrong(handler.at, `${handler.why}: ${handler.mend}`);
        } else if ("unsupported" in handler && !TYPES.includes(handler.unsupported)) {
          const drops = from.host === "claude" ? ", and drops the whole file for it" : "";
          const why = `${from.host} has no hooks of type '${handler.unsupported}'${drops}: write "type": "command"`;
          wrong(`${at}.hooks[${k}]`, why);
        } else {
          const { matcher } = group;
          subjects.push(settingsSubject({ name: `${shown}#${n++}`, event, matcher, handler }, from));
        }
      }
    }
  }
  return { subjects, problems };
}

/** Events that stand where the host looks for none. */
function unwrapped(settings: unknown, shown: string, path: string, options: FindOptions): string[] {
  const { host } = placeOf(path, options);
  const [event] = Object.entries(isObject(settings) ? settings : {})
    .filter(([name, groups]) => Array.isArray(groups) && isEvent(name, host)).map(([name]) => name);
  if (event === undefined) return [];
  return [
    `${shown}: Cannot use '${event}' as ${host} reads no hooks outside of "hooks": write {"hooks": {"${event}": …}}`,
  ];
}

/** @throws {Error} that names the file, as it is `shown`, and the place in it */
async function readAny(path: string, shown: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (path.endsWith(".toml")) return await readCodexConfig(path, shown);
  if (path.endsWith(".md")) return await readFrontmatter(path, shown);
  return await readSettings({ path, required: true }).catch((error: Error) => {
    throw new Error(`${shown}: ${error.message}`);
  });
}

/** Codex keeps hooks in its `config.toml` too, under the names of its hooks.json; what it trusts stands beside them. */
async function readCodexConfig(path: string, shown: string): Promise<Readonly<Record<string, unknown>>> {
  const settings = await readToml(readFileSync(path, "utf8"), shown);
  if (!isObject(settings.hooks)) return settings;
  const { state: _, ...hooks } = settings.hooks;
  return { ...settings, hooks };
}

/** What a settings file belongs to, by where it lies. */
function placeOf(path: string, { cwd, host, env }: FindOptions): From {
  const folder = dirname(path);
  if (path.endsWith(".md")) {
    return { shown: shortened(path, cwd), host: host ?? "claude", home: homeOf(env), skill: folder, ...ownerOf(path) };
  }
  const dot = /^\.(claude|codex|gemini)$/.exec(basename(folder))?.[1] as Host | undefined;
  const plugin = basename(path) === "hooks.json" && basename(folder) === "hooks" ? dirname(folder) : undefined;
  return {
    shown: shortened(path, cwd),
    host: host ?? dot ?? (path.endsWith(".toml") ? "codex" : undefined) ??
      (plugin !== undefined && existsSync(join(plugin, "gemini-extension.json")) ? "gemini" : "claude"),
    project: dot || plugin ? dirname(folder) : folder,
    home: homeOf(env),
    plugin,
  };
}

function isEvent(event: string, host: Host): boolean {
  if (host === "gemini") return Object.hasOwn(SHAPES.gemini.specific, event);
  if (host === "codex") return Object.hasOwn(SHAPES.codex.specific, event) || event === "Interrupt";
  return resolveEvent(event) !== undefined || Object.hasOwn(CLAUDE_ONLY, kebab(event));
}
