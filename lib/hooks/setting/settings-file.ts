import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, relative } from "node:path";
import { isObject } from "./handler.ts";

/** One settings file, or settings given on the command line as they are. */
export interface SettingsFile {
  readonly path: string;
  readonly scope: "user" | "project" | "local" | "command line";
  /** Named by a person: it must be there. */
  readonly required?: boolean;
  /** The settings themselves, where they are in no file. */
  readonly text?: string;
}

/** Where settings lie, in the order in which they count. */
export function settingsFiles(
  where: { projectDir: string; home?: string; given?: readonly string[] },
): readonly SettingsFile[] {
  const { projectDir, home = homedir(), given = [] } = where;
  return [
    { path: join(home, ".claude", "settings.json"), scope: "user" },
    { path: join(projectDir, ".claude", "settings.json"), scope: "project" },
    { path: join(projectDir, ".claude", "settings.local.json"), scope: "local" },
    ...given.map((text): SettingsFile =>
      text.trimStart().startsWith("{")
        ? { path: "--settings", scope: "command line", text }
        : { path: isAbsolute(text) ? text : join(projectDir, text), scope: "command line", required: true }
    ),
  ];
}

/** How a file is called in names and messages. */
export function shortPath(path: string, projectDir: string): string {
  const inside = relative(projectDir, path);
  if (!isAbsolute(path) || (!inside.startsWith("..") && !isAbsolute(inside))) return isAbsolute(path) ? inside : path;
  const home = relative(homedir(), path);
  return home.startsWith("..") || isAbsolute(home) ? path : `~/${home}`;
}

/**
 * The object in a settings file; undefined where there is no file. Comments and trailing commas are accepted.
 *
 * @throws {Error} that says where it cannot be read
 */
export async function readSettings(file: SettingsFile): Promise<Readonly<Record<string, unknown>> | undefined> {
  let text = file.text;
  if (text === undefined) {
    try {
      text = readFileSync(file.path, "utf8");
    } catch (error) {
      if ((error as { code?: string }).code === "ENOENT" && !file.required) return undefined;
      throw new Error(`Cannot read the settings as ${(error as Error).message}`);
    }
  }
  if (text.trim() === "") return {};
  const { parse, printParseErrorCode } = await import("jsonc-parser");
  const errors: { error: number; offset: number; length: number }[] = [];
  const value: unknown = parse(text.replace(/^\uFEFF/, " "), errors, { allowTrailingComma: true });
  if (errors.length > 0) {
    const { error, offset } = errors[0]!;
    throw new Error(`Cannot read the settings as ${printParseErrorCode(error)} at ${position(text, offset)}`);
  }
  if (!isObject(value)) throw new Error('Cannot read the settings as they are no object: write { "hooks": { … } }');
  return value;
}

function position(text: string, offset: number): string {
  const before = text.slice(0, offset).split("\n");
  return `line ${before.length}, column ${before.at(-1)!.length + 1}`;
}
