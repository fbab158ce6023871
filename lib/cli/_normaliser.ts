import { type Normaliser, normaliserOf } from "../tape/normalise.ts";
import { UsageError } from "./_io.ts";

/** `--normalise`, as the usage of a command has it. */
export const NORMALISE =
  "a difference that does not count, in texts at a path: 'day=messages.**=\\d+ days ago'; the tape keeps it";

/** Reads `--normalise <name=path=pattern>`. */
export function normaliserAsked(value: string | boolean): { normalise: readonly Normaliser[] } {
  const [, name = "", path = "", pattern = ""] = /^([^=]*)=([^=]*)=(.*)$/s.exec(String(value)) ?? [];
  if (pattern === "") {
    throw new UsageError(`Cannot read --normalise '${value}' as it is not <name=path=pattern>: 'day=messages.**=\\d+'`);
  }
  const normalise = [{ name, path, pattern }];
  normaliserOf(normalise);
  return { normalise };
}
