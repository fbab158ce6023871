import { positionOf } from "./file/load-error.ts";

export type Jsonc = typeof import("jsonc-parser");

/** JSON as settings have it, with comments and trailing commas. @throws {Error} that begins with `doing` and says where */
export function parseJsonc(text: string, { parse, printParseErrorCode }: Jsonc, doing: string): unknown {
  const errors: { error: number; offset: number; length: number }[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (!first) return value;
  const { line, column } = positionOf(text, first.offset);
  const words = printParseErrorCode(first.error as never).replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
  throw new Error(`${doing} it is not valid JSON: ${words} at line ${line}, column ${column}`);
}
