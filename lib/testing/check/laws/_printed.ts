import { isObject, parsed } from "../../../core/json.ts";
import { TELLING } from "./shapes.ts";

export type Json = { readonly [key: string]: unknown };

/** What a command printed, told apart. */
export type Printed =
  | { readonly form: "nothing" | "words" }
  | { readonly form: "answer"; readonly json: Json }
  /** An answer with something before or after it: the host reads it as words, or not at all. */
  | { readonly form: "surrounded"; readonly json: Json; readonly where: "before" | "after" }
  /** What looks like an answer and is no JSON. */
  | { readonly form: "broken" }
  /** A piece of the event, which is whoever's wrote it. */
  | { readonly form: "echo" };

/** Reads output as the hosts do, and sees what they do not. */
export function readPrinted(text: string, event: Json): Printed {
  const said = text.replace(/^\uFEFF/, "").trim();
  if (said === "") return { form: "nothing" };
  const whole = parsedObject(said);
  // `{}` stands in many a file, and says nothing.
  if (whole) return said.length > 2 && isPiece(said, event) ? { form: "echo" } : { form: "answer", json: whole };
  if (said.startsWith("{")) {
    const first = leading(said);
    if (first && isPiece(said, event)) return { form: "echo" };
    // `{"async":true}` on the first line, the answer on the next.
    const rest = first && parsedObject(said.slice(first.text.length).trim());
    if (first?.json.async === true && rest) return { form: "answer", json: rest };
    if (first && isTelling(first.json)) return { form: "surrounded", json: first.json, where: "after" };
    return /^\{\s*["}]/.test(said) && !isPiece(said, event) ? { form: "broken" } : { form: "words" };
  }
  for (const at of starts(said)) {
    const found = leading(said.slice(at));
    if (found && isTelling(found.json) && !isPiece(found.text, event)) {
      return { form: "surrounded", json: found.json, where: "before" };
    }
  }
  return { form: "words" };
}

export function isTelling(json: Json): boolean {
  return TELLING.some((key) => Object.hasOwn(json, key));
}

export function parsedObject(text: string): Json | undefined {
  if (!text.startsWith("{") || !text.endsWith("}")) return undefined;
  const value = parsed(text);
  return isObject(value) ? value : undefined;
}

/** Where objects could begin: few places are tried. */
function starts(text: string): number[] {
  return [...text.matchAll(/\{/g)].slice(0, 8).map(({ index }) => index);
}

/** The object at the start of a text. */
function leading(text: string): { readonly text: string; readonly json: Json } | undefined {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < Math.min(text.length, 100_000); i++) {
    const c = text[i];
    if (inString) {
      if (c === "\\") i++;
      else if (c === '"') inString = false;
    } else if (c === '"') inString = true;
    else if (c === "{") depth++;
    else if (c === "}" && --depth === 0) {
      const json = parsedObject(text.slice(0, i + 1));
      return json && { text: text.slice(0, i + 1), json };
    }
  }
  return undefined;
}

/** Whether the event itself holds the text: a hook that repeats what it was given has not said it. */
function isPiece(text: string, event: unknown): boolean {
  if (typeof event === "string") return event.includes(text);
  if (typeof event !== "object" || event === null) return false;
  return Object.values(event).some((value) => isPiece(text, value));
}
