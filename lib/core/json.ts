/** What some work gives; undefined if it throws, or only if its error has one of these codes. */
export function quietly<T>(work: () => T, codes?: readonly string[]): T | undefined {
  try {
    return work();
  } catch (error) {
    if (codes?.includes((error as { code?: string }).code ?? "") === false) throw error;
    return undefined;
  }
}

/** The value of a JSON text; undefined if it is not JSON. */
export function parsed(text: string): unknown {
  return quietly(() => JSON.parse(text));
}

/** Whether a value is a JSON object: not a list, and not null. */
export function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Any object by its keys, as JSON has it. */
export type JsonObject = { readonly [key: string]: unknown };

/** The value if it is an object, otherwise an empty object. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** All texts in plain data. */
export function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

type Present<T> =
  & { [K in keyof T as undefined extends T[K] ? never : K]: T[K] }
  & { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };

/** Fields without those that are undefined, as JSON has them. */
export function present<const T extends object>(fields: T): Present<T> {
  const there: { [key: string]: unknown } = {};
  for (const key in fields) if (fields[key] !== undefined) there[key] = fields[key];
  return there as Present<T>;
}

/** A copy of plain data: what is given to a tool is its own, and what a host gives us stays its own. */
export function thaw<T>(value: T, copies?: Map<unknown, unknown>): T {
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return value;
  const known = copies?.get(value);
  if (known !== undefined) return known as T;
  // Spread first: a part named __proto__ is then the copy's own, and can be replaced like any other.
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as T & object;
  for (const key in copy) {
    const part = copy[key];
    if (typeof part === "object" && part !== null) {
      copies = (copies ?? new Map()).set(value, copy);
      copy[key] = thaw(part, copies);
    }
  }
  return copy;
}

/** Freezes plain data all the way down; stops at what is frozen already, so shared parts are walked once. */
export function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  const proto = Object.getPrototypeOf(value);
  if (proto !== Object.prototype && proto !== Array.prototype && proto !== null) return value;
  Object.freeze(value);
  if (Array.isArray(value)) {
    // By index: JavaScriptCore takes a microsecond to name the places of one frozen list.
    for (let i = 0; i < value.length; i++) freeze(value[i]);
  } else {
    for (const key in value) {
      const part = value[key];
      if (typeof part === "object" && part !== null) freeze(part);
    }
  }
  return value;
}
