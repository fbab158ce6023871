import { readFileSync } from "node:fs";
import { isObject } from "../../core/json.ts";
import { positionOf } from "../file/load-error.ts";

/** One settings file, or settings given on the command line as they are. */
export interface SettingsFile {
  readonly path: string;
  /** Named by a person: it must be there. */
  readonly required?: boolean;
  /** The settings themselves, where they are in no file. */
  readonly text?: string;
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
    const { line, column } = positionOf(text, offset);
    throw new Error(`Cannot read the settings as ${printParseErrorCode(error)} at line ${line}, column ${column}`);
  }
  if (!isObject(value)) throw new Error('Cannot read the settings as they are no object: write { "hooks": { … } }');
  return value;
}
