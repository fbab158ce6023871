import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";
import type { AnyEvent } from "../../core/events.ts";
import type { HookContext } from "../../core/hook.ts";
import type { HookHost } from "./host.ts";
import type { WireFacts } from "./wire.ts";

/** Names that look like secrets: their last word is one (`OPENAI_KEY`, not `MONKEY`), or they say so (`PGPASSWORD`). */
const SECRET = /_KEY$|(?:^|_)(?:API_?KEY|TOKEN|PAT|PASS)$|PASSW(?:OR)?D$|PASSPHRASE$|(?:^|_)SECRET|^MYSQL_PWD$/i;
/** Names like those that are not secrets. */
const NO_SECRET = /PUBLIC_KEY$/i;
/** Secrets by name that hooks are expected to use. */
const KEPT: ReadonlySet<string> = new Set(["GITHUB_TOKEN", "GH_TOKEN"]);
/** What belongs to the host's own process, or is set again where it applies. */
const DROPPED = /^OTEL_|^CLAUDE_(?:ENV_FILE|EFFORT|PLUGIN_ROOT|PLUGIN_DATA)$/;

/**
 * An environment as processes that work for us get it: without what looks like a secret, but for the names to keep.
 * `withheld` are the variables that were left out.
 */
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
  return [ctx.cwd, host.projectDir].find((path) => existsSync(path)) ?? homedir();
}

/**
 * The environment of a hook's process: ours without secrets, and what a hook of the host expects, in our values. What it
 * does not get is said in its log.
 */
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
    mkdirSync(dirname(env.CLAUDE_ENV_FILE), { recursive: true });
  }
  return env;
}

const reported = new WeakMap<HookHost, Set<string>>();

/** Says, once per host, which variables hooks do not get and how they would. */
function reportWithheld(host: HookHost, withheld: readonly string[], log: (message: string) => void): void {
  let known = reported.get(host);
  if (!known) reported.set(host, known = new Set());
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
