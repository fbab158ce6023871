import { HookLoadError } from "./load-error.ts";

/** Reads a TOML document; a mistake is an error with its place. */
export async function readToml(text: string, file: string): Promise<{ readonly [table: string]: unknown }> {
  const { parse, TomlError } = await import("smol-toml");
  try {
    return parse(text);
  } catch (error) {
    const at = error instanceof TomlError ? { line: error.line, column: error.column } : undefined;
    throw new HookLoadError(file, at, `it is not valid TOML: ${(error as Error).message.split("\n", 1)[0]}`);
  }
}
