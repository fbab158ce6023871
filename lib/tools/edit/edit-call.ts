import { isObject } from "../../core/json.ts";
import { shown } from "../../core/shown.ts";
import { ToolError } from "../../core/tool.ts";

/** What an edit asks for, apart from the file. */
export interface EditCall {
  readonly old_string: string;
  readonly new_string: string;
  /** Replace every occurrence, not the only one. @default false */
  readonly replace_all?: boolean;
}

/** Why an edit was refused: stable names, beside a message for the model. */
export type EditCode = "invalid_input" | "empty_old" | "identical" | "not_found" | "ambiguous" | "not_utf8";

/** The value as an edit call with its default filled in, or a ToolError. Looks at nothing but the value. */
export function checkEditCall(value: unknown, name = ""): Required<EditCall> {
  const given = checkObject(value, name || "the input");
  const old_string = checkText(given, "old_string", name);
  const new_string = checkText(given, "new_string", name);
  const replace_all = checkFlag(given, "replace_all", name);
  if (old_string === "") {
    throw refuse("empty_old", `Cannot edit as ${name}old_string must not be empty: use Write to create or fill a file`);
  }
  if (old_string === new_string) {
    throw refuse(
      "identical",
      `Cannot edit as ${name}old_string and ${name}new_string are identical: nothing would change`,
    );
  }
  return { old_string, new_string, replace_all };
}

export function checkObject(value: unknown, name: string): Record<string, unknown> {
  if (isObject(value)) return value;
  throw refuse("invalid_input", `Cannot use ${name} as it must be an object: current value is ${shown(value)}`);
}

/** A string of the input. A lone surrogate would be written as U+FFFD, or match a real one, so it is refused. */
export function checkText(given: Record<string, unknown>, key: string, name = ""): string {
  const value = given[key];
  if (typeof value !== "string") {
    throw refuse("invalid_input", `Cannot use ${name}${key} as it must be a string: current value is ${shown(value)}`);
  }
  if (!value.isWellFormed()) {
    throw refuse(
      "invalid_input",
      `Cannot use ${name}${key} as it is not well-formed Unicode: it holds a lone surrogate`,
    );
  }
  return value;
}

export function checkPath(given: Record<string, unknown>): string {
  const path = checkText(given, "file_path");
  if (path === "") {
    throw refuse("invalid_input", "Cannot use file_path as it must not be empty: give the path of a file");
  }
  if (path.includes("\0")) throw refuse("invalid_input", "Cannot use file_path as it holds a NUL character");
  return path;
}

/** Models send "true" and "false" as strings. Anything else is refused: a truthy "false" must never replace all. */
function checkFlag(given: Record<string, unknown>, key: string, name: string): boolean {
  const value = given[key];
  if (value === undefined || value === false || value === "false") return false;
  if (value === true || value === "true") return true;
  throw refuse(
    "invalid_input",
    `Cannot use ${name}${key} as it must be true or false: current value is ${shown(value)}`,
  );
}

export function refuse(code: EditCode, message: string): ToolError {
  return new ToolError(message, { code });
}
