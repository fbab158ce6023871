/** A copy of plain data: what is given to a tool is its own, and what a host gives us stays its own. */
export function thaw<T>(value: T): T {
  return copied(value, new Map());
}

function copied<T>(value: T, copies: Map<unknown, unknown>): T {
  if (typeof value !== "object" || value === null) return value;
  const list = Array.isArray(value);
  if (!list && Object.getPrototypeOf(value) !== Object.prototype) return value;
  const known = copies.get(value);
  if (known !== undefined) return known as T;
  const copy: Record<string, unknown> = list ? [] as never : {};
  copies.set(value, copy);
  for (const [key, part] of Object.entries(value)) {
    // Assigned, a part of that name would become the copy's prototype, and its fields the tool's input.
    if (key !== "__proto__") copy[key] = copied(part, copies);
    else Object.defineProperty(copy, key, { ...PLAIN, value: copied(part, copies) });
  }
  return copy as T;
}

const PLAIN = { enumerable: true, configurable: true, writable: true };

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
