import { cpSync, existsSync, readFileSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isObject, parsed } from "../core/json.ts";
import { writeWhole } from "./file/places.ts";
import { type Installable, type Installation, type Place, planEntries, removeEmpty, writable } from "./install.ts";
import { withEntries } from "./install-text.ts";

/** By this `description` of its hooks.json we know a plugin that we wrote. */
const MARK = "Written by 'crochet hooks install': change the hooks and install them again";

/** Not beside hooks.json: a folder of hooks holds nothing else. */
const COPIES = "crochet";

const LIST = "hooks/hooks.json";
const MANIFEST = ".claude-plugin/plugin.json";

/** What Claude Code would read of a plugin with these hooks. */
export type PluginPlan = Pick<Installation, "settings" | "entries" | "left"> & { readonly text: string };

/** Works out the plugin. Nothing is written. @throws {Error} if the folder holds a plugin that is not ours */
export async function planPlugin(hooks: readonly Installable[], to: string, place: Place): Promise<PluginPlan> {
  checkPlace(to, place.cwd);
  const taken = [LIST, MANIFEST, COPIES].find((name) => existsSync(join(to, name)));
  if (taken !== undefined && !isOurs(to)) {
    throw new Error(`Cannot write '${join(to, taken)}' as crochet did not write it: name another folder with --to`);
  }
  const plugin = { root: "$CLAUDE_PLUGIN_ROOT", folder: COPIES };
  const planned = planEntries(hooks, { ...place, scope: "project", plugin });
  const text = await withEntries(`${JSON.stringify({ description: MARK }, null, 2)}\n`, planned.entries);
  return { ...planned, settings: join(to, LIST), text };
}

/** Writes the plugin: its list of hooks, its name, and copies of the hook files. */
export function writePlugin({ text }: PluginPlan, folder: string, to: string): void {
  const copies = join(to, COPIES);
  rmSync(copies, { recursive: true, force: true });
  const filter = (path: string) => basename(path) !== "node_modules";
  cpSync(folder, copies, { recursive: true, dereference: true, filter });
  const name = basename(to).toLowerCase().replace(/[^a-z0-9]+/g, "-");
  writeWhole(join(to, MANIFEST), `${JSON.stringify({ name, description: MARK }, null, 2)}\n`, 0o644);
  // Last: Claude Code reads the rest only if this is there.
  writeWhole(join(to, LIST), text, 0o644);
}

/** Removes a plugin of ours, and the folders it leaves empty, up to the project. Gives whether there was one. */
export function removePlugin(to: string, project: string, dry: boolean): boolean {
  if (!isOurs(to)) return false;
  checkPlace(to, project);
  if (dry) return true;
  for (const name of [LIST, MANIFEST, COPIES]) rmSync(join(to, name), { recursive: true, force: true });
  for (const name of [LIST, MANIFEST]) removeEmpty(dirname(join(to, name)), to);
  removeEmpty(to, to.startsWith(`${project}/`) ? project : dirname(to));
  return true;
}

/** What is written into the project stays there; a folder elsewhere was named by a person. */
function checkPlace(to: string, project: string): void {
  if (to.startsWith(`${project}/`)) {
    for (const name of [LIST, MANIFEST, `${COPIES}/any`]) writable(join(to, name), project);
  }
}

function isOurs(to: string): boolean {
  const path = join(to, LIST);
  const list = existsSync(path) ? parsed(readFileSync(path, "utf8")) : undefined;
  return isObject(list) && list.description === MARK;
}
