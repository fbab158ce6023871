import type { Scope } from "../../core/events.ts";
import type { HookRecord, OnError } from "../../core/hook.ts";
import { nearest } from "../../files/nearest.ts";

/** What a hook file may say about itself: a module's `config` export, or the header line of any other text hook. */
export interface HookConfig {
  /** Seconds until the hook counts as failed. */
  readonly timeout?: number;
  readonly onError?: OnError;
  /** What the tool name, the source, … must match, if a list of names in the file name is not enough. */
  readonly matcher?: string;
  /** @default "gate" */
  readonly mode?: HookRecord["mode"];
  readonly scope?: Scope;
  /** Further moments, each written as in a file name: `post-tool-use@Read`. */
  readonly also?: readonly string[];
  /** A command that is kept alive: an event a line in, an answer a line out. */
  readonly warm?: boolean;
  /** A module that runs in a process of its own, by `crochet hook`: one that loops can then be ended. */
  readonly isolate?: boolean;
  /** The same event may get another answer: checks then do not ask for equal ones. */
  readonly nondeterministic?: boolean;
  /** Files of the project that the hook depends on: `hooks check` copies them into its scratch project. */
  readonly state?: string | readonly string[];
}

type Check = (value: unknown) => string | undefined;

const oneOf = (...words: readonly string[]): Check => (value) =>
  words.includes(value as string) ? undefined : `expected ${words.join(", ")}`;
const flag: Check = (value) => typeof value === "boolean" ? undefined : "expected true or false";

const CHECKS: { readonly [K in keyof Required<HookConfig>]: Check } = {
  timeout: (value) =>
    typeof value === "number" && value > 0 && Number.isFinite(value)
      ? undefined
      : "expected a number of seconds, such as 5",
  onError: oneOf("continue", "deny", "abort"),
  matcher: (value) => typeof value === "string" ? undefined : "expected a text",
  mode: oneOf("gate", "observe", "async"),
  scope: oneOf("root", "sub", "all"),
  also: (value) =>
    Array.isArray(value) && value.every((v) => typeof v === "string") ? undefined : "expected a list of events",
  warm: flag,
  isolate: flag,
  nondeterministic: flag,
  state: (value) =>
    [value].flat().every((path) => typeof path === "string" && path !== "" && !/^\/|(?:^|\/)\.\.(?:\/|$)/.test(path))
      ? undefined
      : "expected paths inside the project",
};

/**
 * The config if every key is known and every value fits.
 *
 * @throws {TypeError} that names the key and what would fit
 */
export function checkedConfig(given: unknown): HookConfig {
  if (given === undefined) return {};
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new TypeError(`Cannot use the hook's config: it is not an object but ${JSON.stringify(given)}`);
  }
  for (const [key, value] of Object.entries(given)) {
    const check = Object.hasOwn(CHECKS, key) ? CHECKS[key as keyof HookConfig] : undefined;
    if (!check) {
      throw new TypeError(
        `Unknown config key '${key}': did you mean '${nearest(key, Object.keys(CHECKS))}'?`,
      );
    }
    const wrong = value === undefined ? undefined : check(value);
    if (wrong !== undefined) {
      throw new TypeError(`Cannot use config ${key}=${JSON.stringify(value)}: ${wrong}`);
    }
  }
  return given as HookConfig;
}

/** The header is in the first comment, or in the ten lines after it: a licence or front matter may come first. */
const TOP = /^(?:[ \t]*(?:#[^\n]*|\r)?\n)*(?:[^\n]*\n){0,10}/;

/**
 * Reads `# crochet: timeout=5 matcher="mcp__.*" nondeterministic` from the first lines of a text hook.
 *
 * @throws {TypeError} for a word that is not `key=value`, an unknown key, or a second header
 */
export function readHeader(text: string): HookConfig {
  if (!text.includes("crochet:")) return {};
  const [top] = TOP.exec(`${text}\n`)!;
  const [header, second] = [...top.matchAll(/^#[ \t]*crochet:(.*)$/gm)];
  if (!header) return {};
  if (second) throw new TypeError("Cannot use a second '# crochet:' line: join them");
  const config: Record<string, unknown> = {};
  for (
    const [word, key, quoted, bare] of header[1]!.trim().matchAll(
      /([A-Za-z]+)(?:="((?:[^"\\]|\\.)*)"|=(\S*))?(?=\s|$)|\S+/g,
    )
  ) {
    if (key === undefined) throw new TypeError(`Cannot read '${word}' in the '# crochet:' line: write key=value`);
    const value = quoted?.replaceAll('\\"', '"') ?? bare;
    config[key] = value === undefined ? true : fromText(key, value);
  }
  return checkedConfig(config);
}

function fromText(key: string, value: string): unknown {
  if (key === "timeout") return value.trim() === "" || Number.isNaN(Number(value)) ? value : Number(value);
  if (key === "also" || key === "state") return value.split(",");
  return value === "true" ? true : value === "false" ? false : value;
}
