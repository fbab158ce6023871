import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { AnyEvent } from "../../core/events.ts";
import type { Wrap } from "../../permissions/sandbox.ts";
import type { Stream } from "./process.ts";
import type { WireContext } from "./wire.ts";

/** What hooks outside this process need of the program that runs them. */
export interface HookHost {
  /** Where the session began; `cd` does not move it. Hooks read it as `CLAUDE_PROJECT_DIR`. */
  readonly projectDir: string;
  readonly wire?: WireContext | undefined;
  /** @default the environment of this process */
  readonly env?: { readonly [name: string]: string | undefined } | undefined;
  /** `hooks.env` of the configuration: variables that hooks get although they look like secrets. */
  readonly keepEnv?: readonly string[] | undefined;
  /**
   * `hooks.allowLocal` of the configuration: lets http hooks reach this machine and private networks.
   * @default whether the environment has CROCHET_HOOKS_ALLOW_LOCAL=1
   */
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
  readonly onOutput?: ((output: HookOutput) => void) | undefined;
}

interface HookOutput {
  readonly hook: string;
  readonly event: AnyEvent;
  readonly stream: Stream;
  readonly text: string;
}

let temporary: string | undefined;

/** The folder for long outputs of a session, made when it is first needed. */
export function outputFolder(host: HookHost, sessionId: string): string {
  const own = host.outputDir?.(sessionId);
  if (own !== undefined) mkdirSync(own, { recursive: true });
  return own ?? (host.keepsOutput ? inProject(host.projectDir, sessionId) : undefined) ??
    (temporary ??= mkdtempSync(join(tmpdir(), "crochet-hooks-")));
}

function inProject(project: string, sessionId: string): string | undefined {
  // As stateDir() has it, which the start of a hook for another host would load for nothing.
  const outputs = resolve(project, process.env.CROCHET_HOME || ".crochet", "outputs");
  const folder = join(outputs, sessionId);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Ignored by git without a change to the project's own files.
    writeFileSync(join(outputs, ".gitignore"), "*\n");
    return folder;
  } catch {
    return undefined;
  }
}

/** What the model reads whole, and what it reads of more than that; both in characters. */
const WHOLE = 10_000;
const PREVIEW = 2_000;

/** A text for the model, or its beginning and where the whole of it is: in `saved`, or in a file that is now written. */
export function persisted(text: string, file: () => string, saved?: string): string {
  if (text.length <= WHOLE) return text;
  const path = saved ?? file();
  if (saved === undefined) writeFileSync(path, text, { mode: 0o600 });
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
