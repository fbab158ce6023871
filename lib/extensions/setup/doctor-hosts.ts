import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Io } from "../../cli/kit/io.ts";
import { several } from "../../cli/show/text.ts";
import { isObject, objectOf, parsed } from "../../core/json.ts";
import { type Environment, homeOf, realOr, shortPath } from "../../hooks/file/user-places.ts";
import { loadSettings, readSettings } from "../../hooks/hook-settings.ts";
import { HOST_NAMES, type HostName, HOSTS } from "../../hooks/hosts/index.ts";
import { adapterEntries, adapterText, isAdapter } from "../../hooks/install-adapter.ts";
import { installedFile, isAbsoluteLine } from "../../hooks/install-line.ts";
import { FIRST_WITH_MODS, modsIn } from "../../hooks/install-plugin.ts";
import { onPath } from "../../process/programs.ts";

/** One thing that was looked at. */
export interface Check {
  readonly about: string;
  readonly state: "ok" | "warning" | "broken";
  /** What was seen; never a secret. */
  readonly words: string;
  readonly fix?: string;
}

const seen = (state: Check["state"]) => (about: string, words: string, fix?: string): Check => ({
  ...{ about, state, words, ...(fix !== undefined && { fix }) },
});
export const ok = seen("ok");
export const warning = seen("warning");
export const broken = seen("broken");

/** Splits "what: the fix"; a message without a fix is all words. */
export function parted(message: string): { words: string; fix?: string } {
  const at = message.lastIndexOf(": ");
  return at < 0 ? { words: message } : { words: message.slice(0, at), fix: message.slice(at + 2) };
}

/** Where hosts keep their hooks, in a project and in a home. */
const FILES = HOST_NAMES.flatMap((host) =>
  HOSTS[host].settings.files.filter((file) => !file.endsWith(".toml")).map((file) => ({ host, file }))
);

/** The settings of other hosts, entry by entry: nothing in them is run. */
export async function hostChecks(cwd: string, env: Io["env"]): Promise<Check[]> {
  const home = homeOf(env);
  const dirs = [...new Set([cwd, home])];
  const all = dirs.flatMap((dir) => FILES.map(({ host, file }) => ({ host, path: join(dir, file) })));
  const found = all.filter(({ path }) => existsSync(path));
  const checks: Check[] = [];
  for (const { host, path } of found) {
    const name = shortPath(path, cwd, env);
    const problems = await problemsOf(host, path, cwd);
    if (host === "codex") problems.push(...await codexTrust(path, cwd, env));
    checks.push(...problems.map((check) => ({ ...check, about: name })));
    if (problems.length === 0) checks.push(ok(name, `${host} can read it`));
  }
  const mods = dirs.flatMap(modsIn);
  return [...checks, ...mods.map((mod) => ({ ...modCheck(env), about: shortPath(mod, cwd, env) }))];
}

/** Claude Code leaves a mod out without a word if it is too old for mods. */
function modCheck(env: Io["env"]): Check {
  const program = onPath("claude", env);
  if (program === undefined) return warning("", "claude is not on the PATH", "install Claude Code");
  const [version = "of no version"] =
    /\d+\.\d+\.\d+/.exec(execFileSync(program, ["--version"], { env: { ...env }, encoding: "utf8" })) ?? [];
  if (version.localeCompare(FIRST_WITH_MODS, "en", { numeric: true }) >= 0) {
    return ok("", `Claude Code ${version} loads mods`);
  }
  const words = `Claude Code ${version} loads no mods, so its guards refuse everything`;
  return broken("", words, `update it to ${FIRST_WITH_MODS} or newer`);
}

/** Codex runs no hook that a person has not trusted, and does not say so: its own list tells. */
async function codexTrust(path: string, cwd: string, env: Io["env"]): Promise<Check[]> {
  const isOurs = (command: string) => installedFile(command, cwd) !== undefined;
  const settings = await readSettings({ path }).catch(() => undefined);
  const ours = commandsIn(settings?.hooks, undefined).filter(({ command }) => isOurs(command)).length;
  const program = onPath("codex", env);
  if (ours === 0 || program === undefined) return [];
  const fix = "start codex here and type /hooks";
  try {
    const listed = (await codexHooks(program, cwd, env)).filter((hook) => isOurs(hook.command));
    const trusted = listed.filter(({ sourcePath, trustStatus }) =>
      realOr(sourcePath) === realOr(path) && /^(trusted|managed)$/.test(trustStatus)
    ).length;
    const words = `Codex does not run ${ours - trusted} of ${several(ours, "hook")} as no person trusts them`;
    return trusted >= ours ? [] : [warning("", words, fix)];
  } catch (error) {
    const why = (error as Error).message;
    return [warning("", `Codex cannot be asked whether its hooks are trusted: ${why}`, fix)];
  }
}

async function problemsOf(host: HostName, path: string, cwd: string): Promise<Check[]> {
  const file = { path };
  const { lists } = HOSTS[host].settings;
  if (!lists) return adapterProblems(host, path, cwd);
  let settings: Readonly<Record<string, unknown>>;
  try {
    settings = await readSettings(file) ?? {};
  } catch (error) {
    return [broken("", (error as Error).message, `fix the JSON by hand: ${host} cannot read any of it`)];
  }
  const gone = commandsIn(settings[lists.at], lists.entry?.command).flatMap(({ at, command }) =>
    goneCheck({ host, path, cwd }, at, command) ?? []
  );
  if (lists.entry) return gone;
  if (!HOSTS[host].likeClaude) return [...shapeProblems(settings[lists.at]), ...gone];
  const { problems } = await loadSettings([file], { projectDir: cwd });
  return [
    ...problems.map(({ level, message }) => {
      const { words, fix } = parted(message.replace(/^\S+\.json:? ?/, ""));
      return level === "error" ? broken("", words, fix) : warning("", words, fix ?? "look at the entry");
    }),
    ...gone,
  ];
}

/** The commands of all entries, each with its place, such as `hooks.Stop[0].hooks[1]`; `flat` is their key if the lists hold them. */
function commandsIn(hooks: unknown, flat: string | undefined) {
  const found = (at: string, command: unknown) => typeof command === "string" ? [{ at, command }] : [];
  return Object.entries(objectOf(hooks)).flatMap(([event, items]) =>
    (Array.isArray(items) ? items : []).flatMap((item, i) => {
      const at = `hooks.${event}[${i}]`;
      if (flat !== undefined) return found(at, item?.[flat]);
      const inside: { command?: unknown }[] = Array.isArray(item?.hooks) ? item.hooks : [];
      return inside.flatMap((hook, h) => found(`${at}.hooks[${h}]`, hook?.command));
    })
  );
}

/** A plugin that we wrote: what it serves may be gone, and it may be of another version. */
function adapterProblems(host: HostName, path: string, cwd: string): Check[] {
  const text = readFileSync(path, "utf8");
  if (!isAdapter(text)) return [];
  const entries = adapterEntries(path, text, host);
  const gone = entries.flatMap(({ event, hook }) => goneCheck({ host, path, cwd }, event, hook.command) ?? []);
  const again = `crochet hooks install --for ${host} writes it again`;
  if (text === adapterText(host, entries)) return gone;
  return [...gone, warning("", "it is not what this version of crochet writes", again)];
}

/** An entry that 'hooks install' wrote and that can no longer start, or serves a checkout that was here before. */
function goneCheck(
  { host, path, cwd }: { readonly host: HostName; readonly path: string; readonly cwd: string },
  at: string,
  command: string,
): Check | undefined {
  const file = installedFile(command, cwd);
  if (file === undefined) return undefined;
  const again = `crochet hooks install --for ${host} writes it again`;
  if (!isAbsoluteLine(command)) {
    return existsSync(file) ? undefined : broken("", `${at} serves ${file}, which is gone`, again);
  }
  const [, quoted, bare] = /^(?:'((?:[^']|'\\'')+)'|(\S+))/.exec(command) ?? [];
  const missing = [quoted ?? bare, file].find((path) => path?.startsWith("/") && !existsSync(path));
  if (missing !== undefined) return broken("", `${at} starts ${missing}, which is gone`, again);
  if (!path.startsWith(`${cwd}/`) || file.startsWith(`${cwd}/`) || path.endsWith(".local.json")) return undefined;
  return warning("", `${at} serves ${file}, which is not in this project`, again);
}

/** The form of settings that are not like Claude Code's, as far as their hooks depend on it. */
function shapeProblems(hooks: unknown): Check[] {
  if (hooks === undefined) return [];
  if (!isObject(hooks)) return [broken("", "hooks is not an object", 'write { "hooks": { "BeforeTool": [ … ] } }')];
  return Object.entries(hooks).flatMap(([event, groups]) => {
    // Beside its events there are switches, such as `enabled`, and the list `disabled`.
    if (!Array.isArray(groups) || event === "disabled") return [];
    return groups.flatMap((group: unknown, i) => {
      const at = `hooks.${event}[${i}]`;
      return isObject(group) && Array.isArray(group.hooks)
        ? []
        : [broken("", `${at} has no list of hooks`, `write { "matcher": "…", "hooks": [ … ] } at ${at}`)];
    });
  });
}

interface CodexHook {
  readonly command: string;
  readonly sourcePath: string;
  /** `trusted` and `managed` ones run. */
  readonly trustStatus: string;
}

const PATIENCE_MS = 10_000;

/** The hooks that Codex knows in a folder: only it knows which a person has trusted. @throws {Error} if it does not answer */
async function codexHooks(program: string, cwd: string, env: Environment): Promise<CodexHook[]> {
  const server = spawn(program, ["app-server"], { cwd, env, stdio: ["pipe", "pipe", "ignore"] });
  const timer = setTimeout(() => server.kill("SIGKILL"), PATIENCE_MS);
  try {
    server.stdin.on("error", () => {});
    const started = new Promise((_, reject) => server.on("error", reject));
    const clientInfo = { name: "crochet", version: "1" };
    const messages = [
      { id: 0, method: "initialize", params: { clientInfo } },
      { method: "initialized" },
      { id: 1, method: "hooks/list", params: { cwds: [cwd] } },
    ];
    server.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
    return await Promise.race([listIn(server.stdout), started as Promise<never>]);
  } finally {
    clearTimeout(timer);
    server.kill("SIGKILL");
  }
}

interface Listed {
  readonly id?: number;
  readonly error?: { readonly message?: string };
  readonly result?: { readonly data?: readonly { readonly hooks?: readonly CodexHook[] }[] };
}

async function listIn(stdout: NodeJS.ReadableStream): Promise<CodexHook[]> {
  for await (const line of createInterface({ input: stdout })) {
    const { id, error, result } = (parsed(line) ?? {}) as Listed;
    if (id !== 1) continue;
    if (!result?.data) throw new Error(error?.message ?? "its answer is not a list of hooks");
    return result.data.flatMap(({ hooks = [] }) => hooks);
  }
  throw new Error("it gave no answer");
}
