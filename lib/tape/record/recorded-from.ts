import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { draftIn } from "../drafts.ts";
import { fixtureAt, scriptOnTape } from "../fixture.ts";
import { keepFiles } from "./keep-files.ts";
import type { TapeOptions } from "../options.ts";
import { TapeError } from "../read.ts";
import { BUILT_IN } from "../tape.ts";

/** The script an agent was made in, as a path. */
export function scriptOf(from: string): string {
  return from.startsWith("file:") ? fileURLToPath(from) : from;
}

/**
 * What a recording that no command began needs so that `crochet replay` can run it again: the agent's script, unless
 * that is a test, and the workspace as it is before the run. A new recording has it if the environment names the tape, an
 * update if the tape had one before.
 */
export function recordedFrom(
  options: TapeOptions,
  from: string | undefined,
  cwd: string,
  by: "command" | "environment" | "agent",
): TapeOptions {
  const { path, agent, mode } = options;
  if (path === undefined || path.endsWith(".jsonl") || agent !== undefined || from === undefined) return options;
  const script = from === BUILT_IN ? undefined : scriptOf(from);
  if (script !== undefined && /[._](?:test|spec)\.\w+$/.test(script)) return options;
  const has = fixtureAt(path).files !== undefined;
  const keeps = mode === "update" ? by !== "command" && has : by === "environment" && !has && !options.tools;
  return {
    ...options,
    agent: script === undefined ? BUILT_IN : scriptOnTape(path, script),
    ...(keeps && {
      workspace: taken(cwd, path, script === undefined ? [] : [script, join(dirname(script), "hooks")]),
    }),
  };
}

/**
 * A workspace as it is now, out of sight of the tools that work in it. Too large a one is still recorded: it can be
 * replayed in this directory.
 */
function taken(cwd: string, fixture: string, except: readonly string[]): NonNullable<TapeOptions["workspace"]> {
  const copy = mkdtempSync(join(tmpdir(), "crochet-files-"));
  const draft = draftIn(fixture);
  let whole = true;
  let leftOut: ReturnType<typeof keepFiles> = [];
  try {
    leftOut = keepFiles(cwd, copy, except);
  } catch (error) {
    if (!(error instanceof TapeError)) throw error;
    whole = false;
  }
  const files = join(fixture, "files");
  return {
    leftOut,
    ready() {
      if (whole) mkdirSync(draft, { recursive: true });
      if (existsSync(join(copy, "files"))) {
        cpSync(join(copy, "files"), join(draft, "files"), { recursive: true, verbatimSymlinks: true });
      }
    },
    keep() {
      if (!whole) return;
      if (existsSync(files)) renameSync(files, join(draft, "before"));
      if (existsSync(join(draft, "files"))) renameSync(join(draft, "files"), files);
    },
    drop() {
      rmSync(copy, { recursive: true, force: true });
      if (!existsSync(draft)) return;
      rmSync(draft, { recursive: true });
      if (readdirSync(fixture).length === 0) rmdirSync(fixture);
    },
  };
}
