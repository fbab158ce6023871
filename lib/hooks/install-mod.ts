import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { programOf } from "../process/programs.ts";
import { hashOf } from "../runtime/sha256.ts";
import { isSkipped } from "./file/file-name.ts";
import { isGuard, readHeader } from "./file/hook-record.ts";
import { hostEvent, HOSTS } from "./hosts/index.ts";
import { type Installable, type InstallPlace, matcherOfPattern, type Moment, momentsOf, refusalTo } from "./install.ts";
import type { HostEntry } from "./install-line.ts";
import { COPIES, pluginName, pluginOf, type PluginPlan } from "./install-plugin.ts";
import { IMPORTS, modBundle } from "./mod/bundle.ts";
import { MOST_OWN_SECONDS } from "./mod/mod-engine.ts";
import { beltLine, isClassic, registerText } from "./mod/register.ts";
import { readPromptFile } from "./prompt-hook.ts";
import { rulesIn } from "./hook-rules.ts";

/** How one hook becomes part of a mod: as code, with what that imports, or as a file beside the code. */
interface ModPart {
  readonly hook: Installable;
  /** The fields of a `ModHook`, as code. */
  readonly code: string;
  readonly imports?: string;
}

/** Why a hook cannot be part of a mod, and what would help. */
interface Unfit {
  readonly hook: Installable;
  readonly why: string;
  readonly fix?: string;
}

/** Works out a mod; with a `belt`, settings hooks refuse where it is not loaded. @throws {Error} if a guard would be left out */
export async function planMod(
  hooks: readonly Installable[],
  to: string,
  place: InstallPlace,
  belt: boolean,
): Promise<PluginPlan> {
  if (!("Bun" in globalThis)) throw new Error("Cannot make a mod as only Bun bundles hooks: npm install --global bun");
  const made: (ModPart | Unfit)[] = [];
  for (const hook of hooks) made.push(await partOf(hook));
  const parts = made.filter((one): one is ModPart => "code" in one);
  const unfit = made.filter((one): one is Unfit => "why" in one);
  const guards = unfit.filter(({ hook: { record } }) => record.on.some(({ event }) => isGuard(record, event)));
  if (guards.length > 0 || parts.length === 0) {
    const lines = (guards.length > 0 ? guards : unfit).map(({ hook: { file }, why, fix }) => {
      return `Cannot make a mod of '${shown(file)}' as ${why}${fix ? `: ${fix}` : ""}`;
    });
    throw new Error(lines.join("\n") || "Cannot make a mod as there is no hook");
  }
  const moments = parts.flatMap(({ hook }) => momentsOf(hook)).map((one) => {
    return { ...one, name: hostEvent("claude", one.event)! };
  });
  const name = pluginName(to);
  const hash = hashOf(`${name} ${place.scope}`, 8);
  const variable = belt ? `CROCHET_MOD_${hash}` : undefined;
  const code = await codeOf(parts);
  const kinds = new Set(parts.map(({ hook: { file } }) => file.kind));
  const register = registerText({
    ...{ name, variable, tools: toolsOf(moments), asks: kinds.has("prompt") },
    events: new Set(moments.map((moment) => moment.name)),
    guards: new Set(moments.filter(isGuardAt).map((moment) => moment.name)),
  });
  const inCode = new Set(hooks.filter(({ file }) => file.kind !== "command").map(({ file }) => file.name));
  return await pluginOf(parts.map(({ hook }) => hook), to, place, {
    how: "which run inside Claude Code",
    entries: moments.map(({ file, name: event, on }) => entry(event, matcherOf([on]), file.name)),
    left: unfit.map(({ hook: { file }, why, fix }) => ({ name: file.name, why: fix ? `${why}: ${fix}` : why })),
    list: { modules: ["./register.js"] },
    listed: variable === undefined ? [] : beltOf(moments, name, variable),
    notes: notesOf(moments, parts),
    files: [["hooks/crochet.js", code], ["hooks/register.js", register]],
    // Commands are copied with what they may read; all else is in the code.
    isCopied: (file) => kinds.has("command") && !inCode.has(file) && (!isSkipped(file) || /^[_.]/.test(file)),
  });
}

type NamedMoment = Moment & { readonly name: string };

function isGuardAt({ record, on }: Moment): boolean {
  return isGuard(record, on.event);
}

/** The tools of all hooks around a call; undefined if one of them is for every tool. */
function toolsOf(moments: readonly NamedMoment[]): string[] | undefined {
  const around = moments.filter(({ name }) => /^(?:Pre|Post)ToolUse/.test(name));
  return around.every(({ on }) => on.tools) ? [...new Set(around.flatMap(({ on }) => on.tools!))] : undefined;
}

function matcherOf(listened: readonly Moment["on"][]): string | undefined {
  const { toolMatcher } = HOSTS.claude.settings;
  if (listened.every(({ tools }) => tools)) return toolMatcher([...new Set(listened.flatMap(({ tools }) => tools!))]);
  const [{ pattern }, ...others] = listened as [Moment["on"], ...Moment["on"][]];
  return others.length > 0 || pattern === undefined ? undefined : matcherOfPattern(pattern, "claude");
}

function entry(event: string, matcher: string | undefined, command: string): HostEntry {
  return { event, ...(matcher !== undefined && { matcher }), hook: { type: "command", command } };
}

/** For each event that hooks guard, a settings hook that refuses where the mod is not loaded. */
function beltOf(moments: readonly NamedMoment[], name: string, variable: string): HostEntry[] {
  const reason = `The mod ${name} is not loaded, so its guards refuse this`;
  return [...Map.groupBy(moments.filter(isGuardAt), (moment) => moment.name)].map(([event, guards]) => {
    const line = beltLine(variable, refusalTo(guards[0]!.on.event, reason, "claude", event));
    return entry(event, matcherOf(guards.map(({ on }) => on)), line);
  });
}

function notesOf(moments: readonly NamedMoment[], parts: readonly ModPart[]): string[] {
  const classic = moments.filter(({ name }) => isClassic(name)).map(({ file }) => shown(file));
  const slow = parts.filter(({ imports, hook: { record } }) => imports !== undefined && record.timeout! > LONG_SECONDS);
  const own = `has ${MOST_OWN_SECONDS} s in a mod, without the time of what it starts by ctx.$`;
  return [
    ...[...new Set(classic)].map((file) => `${file} does not run where Claude Code has managed settings`),
    ...slow.map(({ hook: { file } }) => `${shown(file)} ${own}`),
  ];
}

/** A hook file as a person knows it. */
function shown({ at, name }: Installable["file"]): string {
  return `${basename(dirname(at))}/${name}`;
}

/** The time limit of a module that sets none; a module that needs longer sets its own. */
const LONG_SECONDS = 60;

const ELSEWHERE = "install it without --as mod";

async function partOf(hook: Installable): Promise<ModPart | Unfit> {
  const { file, record } = hook;
  const foreign = momentsOf(hook).find(({ event }) => hostEvent("claude", event) === undefined);
  if (foreign) return { hook, why: `a mod has no event like ${foreign.event}` };
  const config = JSON.stringify(file.kind === "module" ? {} : readHeader(file.text));
  switch (file.kind) {
    case "module":
      if (record.dialect !== "native") return { hook, why: "it sets isolate", fix: ELSEWHERE };
      return await modulePart(hook);
    case "rules": {
      const rules = await rulesIn(file.text, file.name);
      return { hook, code: `config: ${config}, rules: ${JSON.stringify(rules)}` };
    }
    case "prompt": {
      const { fields: { model, cache, ...rest }, template } = await readPromptFile(file.text, file.name);
      const all = { config: { ...readHeader(file.text), ...rest }, template: template.trim(), model, cache };
      return { hook, code: JSON.stringify(all).slice(1, -1) };
    }
    case "command": {
      const { command, args } = programOf(file);
      const argv = [command, ...args].map((word) => word === file.path ? `${COPIES}/${file.name}` : word);
      return { hook, code: `config: ${config}, argv: ${JSON.stringify(argv)}` };
    }
  }
}

async function modulePart(hook: Installable): Promise<ModPart | Unfit> {
  const { file } = hook;
  const imports = JSON.stringify(file.path);
  let unfit: string | undefined;
  try {
    ({ unfit } = await modBundle(`export * from ${imports};\nexport { default } from ${imports};\n`));
  } catch (error) {
    return { hook, why: `it cannot be bundled: ${(error as Error).message}` };
  }
  if (unfit === undefined) return { hook, code: "", imports };
  if (unfit !== IMPORTS) return { hook, why: unfit, fix: `use ctx.files and ctx.$, or ${ELSEWHERE}` };
  const line = file.text.split("\n").findIndex((text) => /\bimport\s*\(/.test(text)) + 1;
  return {
    hook,
    why: line > 0 ? `${unfit} (line ${line})` : unfit,
    fix: `write an import declaration, or ${ELSEWHERE}`,
  };
}

/** As much code as Claude Code reads of a file. */
const MOST_BYTES = 1_048_576;

/** The mod's code: what runs hooks, and the hooks. */
async function codeOf(parts: readonly ModPart[]): Promise<string> {
  const imports = parts.map(({ imports }, i) => imports === undefined ? "" : `import * as h${i} from ${imports};\n`);
  const hooks = parts.map(({ hook: { file }, code, imports }, i) => {
    return `{ name: ${JSON.stringify(file.name)}, ${imports === undefined ? code : `module: h${i}`} }`;
  });
  const runtime = JSON.stringify(fileURLToPath(new URL(`mod/runtime${import.meta.url.slice(-3)}`, import.meta.url)));
  const source = `import { load } from ${runtime};\nexport * from ${runtime};\n${
    imports.join("")
  }load([${hooks.join()}]);\n`;
  const { code, unfit } = await modBundle(source, true);
  if (unfit !== undefined) throw new Error(`Cannot make a mod as ${unfit}`);
  const bytes = new TextEncoder().encode(code).length;
  if (bytes <= MOST_BYTES) return code;
  const [had, most] = [bytes, MOST_BYTES].map((n) => n.toLocaleString("en"));
  throw new Error(`Cannot make a mod as its code has ${had} bytes and Claude Code reads ${most}: leave a hook out`);
}
