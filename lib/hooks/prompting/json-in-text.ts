import { isObject, parsed } from "../../core/json.ts";

type Fields = { readonly [key: string]: unknown };

/** More characters than an answer has; what looks through text must end soon whatever the text is. */
const MOST_STEPS = 5_000_000;

/**
 * The JSON objects of a text that `wanted` accepts, in order: the text is one, or one stands in a fence, or among
 * other words. What lies inside an accepted object is part of it.
 */
export function jsonInText(text: string, wanted: (object: Fields) => boolean): Fields[] {
  const found: Fields[] = [];
  let steps = 0;
  for (let start = text.indexOf("{"); start >= 0 && steps < MOST_STEPS;) {
    const end = closing(text, start);
    steps += (end ?? text.length) - start;
    const object = end === undefined ? undefined : parsed(text.slice(start, end));
    const taken = isObject(object) && wanted(object);
    if (taken) found.push(object);
    start = text.indexOf("{", taken ? end : start + 1);
  }
  return found;
}

/** The index after the bracket that closes the one at `start`; brackets in strings do not count. */
function closing(text: string, start: number): number | undefined {
  let depth = 0;
  let quoted = false;
  for (let i = start; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c === "\\") i++;
      else if (c === '"') quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === "{") depth++;
    else if (c === "}" && --depth === 0) return i + 1;
  }
  return undefined;
}
