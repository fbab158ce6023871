/** A copy of plain data: what is given to a tool is its own, and what a host gives us stays its own. */
export function thaw<T>(value: T): T {
  return isFlat(value, false) ? { ...value } : copied(value, false, new Map());
}

/** Whether a plain object has no parts that need a copy too: most of what is copied is like that. */
function isFlat(value: unknown, share: boolean): value is object {
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return false;
  for (const key in value) {
    const part = (value as { [key: string]: unknown })[key];
    if (typeof part === "object" && part !== null && !(share && Object.isFrozen(part))) return false;
  }
  return true;
}

/** `share`: what is frozen already is taken as it is. */
function copied<T>(value: T, share: boolean, copies: Map<unknown, unknown>): T {
  if (typeof value !== "object" || value === null || (share && Object.isFrozen(value))) return value;
  const list = Array.isArray(value);
  if (!list && Object.getPrototypeOf(value) !== Object.prototype) return value;
  const known = copies.get(value);
  if (known !== undefined) return known as T;
  const copy: Record<string, unknown> = list ? [] as never : {};
  copies.set(value, copy);
  for (const [key, part] of Object.entries(value)) put(copy, key, copied(part, share, copies));
  return copy as T;
}

/** A part of that name stays one: assigned, it would become the copy's prototype, and its fields the tool's input. */
function put(copy: Record<string, unknown>, key: string, part: unknown): void {
  if (key !== "__proto__") copy[key] = part;
  else Object.defineProperty(copy, key, { value: part, enumerable: true, configurable: true, writable: true });
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

/** Data that cannot be changed: itself if it is frozen, otherwise a frozen copy. */
export function frozen<T>(value: T): T {
  if (Object.isFrozen(value)) return value;
  return isFlat(value, true) ? Object.freeze({ ...value }) : freeze(copied(value, true, new Map()));
}
