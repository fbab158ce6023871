import type { Projection } from "../process/wire.ts";

/** What a path of field names means, worked out once: `args.command`, `tool`, `new_model`. */
export function fieldReader(path: string): (event: Projection) => unknown {
  const [root, ...rest] = path.split(".") as [string, ...string[]];
  // A projection inherits from its event, and an event from every object: only the first of these is data.
  const hidden = root in Object.prototype || root === "toJSON";
  const first = (event: Projection) => hidden ? undefined : event[root];
  if (rest.length === 0) return first;
  return (event) => rest.reduce(inside, first(event));
}

/** Only what JSON would show: no methods, nothing inherited. */
function inside(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return Array.isArray(value) && key === "length" ? undefined : (value as { [key: string]: unknown })[key];
}

/** A value as rules compare it and templates show it: scalars as their text, the rest as JSON, nothing as undefined. */
export function fieldText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (value === undefined || value === null || typeof value === "function") return undefined;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Names joined by dots, such as rules and templates write; `__proto__` is no field. */
export function isFieldPath(text: string): boolean {
  return /^[A-Za-z_][\w-]*(?:\.[\w-]+)*$/.test(text) && !text.split(".").includes("__proto__");
}
