import { homedir, tmpdir } from "node:os";
import { dirname } from "node:path";
import { makeOnce } from "../../core/maps.ts";
import { quietly } from "../../core/json.ts";
import { isFolder, makeFolder, scratchState, stateFolder, writeStateFile } from "../../files/state.ts";
import type { AnyEvent } from "../../core/events.ts";
import type { HookContext } from "../../core/hook.ts";
import type { Stream, Wrap } from "../../process/process.ts";
import type { WireContext, WireFacts } from "./wire.ts";

/** What hooks outside this process need of the program that runs them. */
export interface HookHost {
  /** Where the session began; `cd` does not move it. Hooks read it as `CLAUDE_PROJECT_DIR`. */
  readonly projectDir: string;
  readonly wire?: WireContext | undefined;
  /** @default the environment of this process */
  readonly env?: { readonly [name: string]: string | undefined } | undefined;
  /** `hooks.env` of the configuration: variables that hooks get although they look like secrets. */
  readonly keepEnv?: readonly string[] | undefined;
  /** Lets http hooks reach this machine and private networks. @default whether CROCHET_HOOKS_ALLOW_LOCAL is 1 */
  readonly allowLocal?: boolean | undefined;
  /** The folder for output too long for memory or for the model. @default a new one among the temporary files */
  readonly outputDir?: ((sessionId: string) => string) | undefined;
  /** Whether to use a folder of the project, which the agent's tools may read, if it can be written. @default false */
  readonly keepsOutput?: boolean | undefined;
  /** The file in which SessionStart hooks leave `export NAME=value` lines for later Bash calls. */
  readonly envFile?: ((sessionId: string) => string) | undefined;
  /** Takes rules for the session that a PermissionRequest hook gives with its answer. */
  readonly remember?: ((behavior: "allow" | "ask" | "deny", rules: readonly string[]) => void) | undefined;
  /** How to start commands of hooks in the session's sandbox. @default they run as the user */
  readonly confine?: (() => Promise<Wrap>) | undefined;
  /** Called with what a command hook writes, while it writes it. */
  readonly onOutput?: ((output: { hook: string; event: AnyEvent; stream: Stream; text: string }) => void) | undefined;
}

let temporary: string | undefined;

/** The folder for long outputs of a session, made when it is first needed. */
export function outputFolder(host: HookHost, sessionId: string): string {
  const own = host.outputDir?.(sessionId);
  if (own !== undefined) makeFolder(own);
  const inProject = () => stateFolder(host.projectDir, process.env, "outputs", sessionId);
  return own ?? (host.keepsOutput ? quietly(inProject) : undefined) ??
    (temporary ??= scratchState(tmpdir(), "crochet-hooks"));
}

/** What the model reads whole, and what it reads of more than that; both in characters. */
const WHOLE = 10_000;
const PREVIEW = 2_000;

/** A text for the model, or its beginning and where the whole of it is: in `saved`, or in a file that is now written. */
export function persisted(text: string, file: () => string, saved?: string): string {
  if (text.length <= WHOLE) return text;
  const path = saved ?? file();
  if (saved === undefined) writeStateFile(path, text);
  return "<persisted-output>\n" +
    `Output too large (${size(text.length)}). Full output saved to: ${path}\n\n` +
    `Preview (first 2KB):\n${preview(text)}\n...\n</persisted-output>`;
}

/** Never half a character: the API refuses lone surrogates. */
function preview(text: string): string {
  return text.slice(0, /[\uD800-\uDBFF]/.test(text[PREVIEW - 1]!) ? PREVIEW - 1 : PREVIEW);
}

function size(bytes: number): string {
  const kilo = bytes / 1024;
  const [value, unit] = kilo < 1024 ? [kilo, "KB"] : [kilo / 1024, "MB"];
  return `${value.toFixed(1).replace(/\.0$/, "")}${unit}`;
}

/** Names that look like secrets: their last word is one (`OPENAI_KEY`, not `MONKEY`), or they say so (`PGPASSWORD`). */
const SECRET = /_KEY$|(?:^|_)(?:API_?KEY|TOKEN|PAT|PASS)$|PASSW(?:OR)?D$|PASSPHRASE$|(?:^|_)SECRET|^MYSQL_PWD$/i;
/** Names like those that are not secrets. */
const NO_SECRET = /PUBLIC_KEY$/i;
/** Secrets by name that hooks are expected to use. */
const KEPT: ReadonlySet<string> = new Set(["GITHUB_TOKEN", "GH_TOKEN"]);
/** What belongs to the host's own process, or is set again where it applies. */
const DROPPED = /^OTEL_|^CLAUDE_(?:ENV_FILE|EFFORT|PLUGIN_ROOT|PLUGIN_DATA)$/;

/** An environment without what looks like a secret, but for the names to keep; `withheld` are those that were left out. */
export function withoutSecrets(
  given: { readonly [name: string]: string | undefined },
  keep: readonly string[] = [],
): { env: Record<string, string>; withheld: string[] } {
  const env: Record<string, string> = {};
  const withheld: string[] = [];
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || DROPPED.test(name)) continue;
    const isSecret = SECRET.test(name) && !NO_SECRET.test(name) && !KEPT.has(name);
    if (isSecret && !keep.includes(name)) withheld.push(name);
    else env[name] = value;
  }
  return { env, withheld };
}

/** Who starts a process for which hook, on what event. */
export interface HookStart {
  readonly host: HookHost;
  readonly event: AnyEvent;
  readonly ctx: HookContext;
  /** @default what the host knows of the event */
  readonly facts?: WireFacts;
}

/** The working directory of a hook's process: the agent's, or the nearest that exists. */
export function hookFolder({ host, ctx }: HookStart): string {
  return [ctx.cwd, host.projectDir].find((path) => isFolder(path)) ?? homedir();
}

/** The environment of a hook's process: ours without secrets, as its log says, and what a hook of the host expects. */
export function hookEnvironment(start: HookStart, cwd: string): { readonly [name: string]: string } {
  const { host, event, ctx, facts = host.wire?.(event) ?? {} } = start;
  const { env, withheld } = withoutSecrets(host.env ?? process.env, host.keepEnv);
  reportWithheld(host, withheld, ctx.log);
  Object.assign(env, {
    PWD: cwd,
    CROCHET: "1",
    CLAUDECODE: "1",
    CLAUDE_PROJECT_DIR: host.projectDir,
    CLAUDE_CODE_SESSION_ID: event.session_id,
    CLAUDE_CODE_ENTRYPOINT: "crochet",
    CLAUDE_PID: String(process.pid),
  });
  if (facts.effort) env.CLAUDE_EFFORT = facts.effort.level;
  if (event.event === "session-start" && host.envFile) {
    env.CLAUDE_ENV_FILE = host.envFile(event.session_id);
    makeFolder(dirname(env.CLAUDE_ENV_FILE));
  }
  return env;
}

const reported = makeOnce((_: HookHost) => new Set<string>());

/** Says, once per host, which variables hooks do not get and how they would. */
function reportWithheld(host: HookHost, withheld: readonly string[], log: (message: string) => void): void {
  const known = reported(host);
  const fresh = withheld.filter((name) => !known.has(name));
  if (fresh.length === 0) return;
  for (const name of fresh) known.add(name);
  log(`Hooks do not get ${fresh.join(", ")} as they look like secrets: list a name under hooks.env to pass it on`);
}

/** Puts the values of the host's own placeholders into one element of an exec form; nothing else is expanded. */
export function withPlaceholders(text: string, env: { readonly [name: string]: string }): string {
  return text.replace(
    /\$\{(CLAUDE_PROJECT_DIR|CLAUDE_PLUGIN_ROOT|CLAUDE_PLUGIN_DATA)\}/g,
    (whole, name: string) => env[name] ?? whole,
  );
}
