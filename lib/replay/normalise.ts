import type { Block, Message, TextBlock } from "../core/messages.ts";
import { runaway } from "../regex/runaway.ts";
import { canonical, messageText } from "../log/canonical.ts";
import { mapParts } from "../log/redact/redact.ts";
import type { Tape, TapeRequest } from "../log/tape.ts";
import type { Normaliser } from "../log/entry.ts";

/** Reads texts of a request at their path. */
export type Normalise = (text: string, path: string) => string;

export function normaliserOf(declared: readonly Normaliser[] | undefined): Normalise | undefined {
  if (!declared || declared.length === 0) return undefined;
  // A tape may declare anything.
  const compiled = declared.map((one: Partial<Normaliser> | null) => {
    const { name, path, pattern } = one ?? {};
    if (typeof name !== "string" || !/^[\w-]+$/.test(name)) {
      throw new TypeError(`Cannot use a normaliser as its name is '${name}': give it a word`);
    }
    const texts = Object.entries({ path: [path, "'messages.**' or 'system'"], pattern: [pattern, "'\\d+ days ago'"] });
    for (const [what, [given, example]] of texts) {
      if (typeof given === "string" && given !== "") continue;
      throw new TypeError(`Cannot use normaliser '${name}' as it has no ${what}: for example ${example}`);
    }
    const wanted = path!.split(".");
    const isAt = (at: string) => fits(wanted, at.split("."));
    return { isAt, find: patternOf(pattern!, name), instead: `{${name}}` };
  });
  return (text, path) => {
    let read = text;
    for (const { isAt, find, instead } of compiled) if (isAt(path)) read = read.replace(find, () => instead);
    return read;
  };
}

/** A tape with further declared differences. */
export function withNormalisers(tape: Tape, more: readonly Normaliser[]): Tape {
  const known = tape.header.normalise ?? [];
  const fresh = more.filter((one) => !known.some((other) => canonical(other) === canonical(one)));
  return fresh.length === 0 ? tape : { ...tape, header: { ...tape.header, normalise: [...known, ...fresh] } };
}

/** By hand: a regular expression with several `**` takes time that grows with a power of the path's length. */
function fits(wanted: readonly string[], parts: readonly string[]): boolean {
  let [at, next] = [0, 0];
  /** What follows the last `**`, and how far that has read: one part more each time the rest does not fit. */
  let any: { readonly then: number; until: number } | undefined;
  while (next < parts.length) {
    if (wanted[at] === "**") any = { then: ++at, until: ++next };
    else if (wanted[at] === parts[next] || (wanted[at] === "*" && parts[next] !== "")) [at, next] = [at + 1, next + 1];
    else if (any) [at, next] = [any.then, ++any.until];
    else return false;
  }
  return at === wanted.length;
}

function patternOf(pattern: string, name: string): RegExp {
  let regex: RegExp;
  try {
    regex = new RegExp(pattern, "g");
  } catch (error) {
    throw new TypeError(`Cannot use normaliser '${name}' as its pattern is wrong: ${(error as Error).message}`);
  }
  const why = runaway(regex);
  if (why !== undefined) throw new TypeError(`Cannot use normaliser '${name}' as '${pattern}' is not safe: ${why}`);
  return regex;
}

/** All of a request but its messages, as it is compared. */
export function normalisedHead(request: TapeRequest, normalise: Normalise | undefined): TapeRequest {
  if (!normalise) return request;
  const { params, system, tools, model } = request;
  return {
    ...request,
    model: normalise(model, "model"),
    params: normalised(params, "", normalise),
    system: isPlain(system)
      ? [{ type: "text", text: normalise(system[0].text, "system") }]
      : normalised(system, "system", normalise),
    tools: normalised(tools, "tools", normalise),
  };
}

/** A message of a request as it is compared, as a text; `at` is its place there. */
export function comparedText(message: Message, at: number, normalise: Normalise | undefined): string {
  return messageText(normalise ? normalised(message, `messages.${at}`, normalise) : message);
}

/** Whether a system prompt is one text, whose path is `system`. */
export function isPlain(system: readonly Block[]): system is readonly [TextBlock] {
  return system.length === 1 && system[0]!.type === "text";
}

/** Applies a normaliser to every text in a value, at its path. Returns the same value if nothing changes. */
export function normalised<T>(value: T, path: string, normalise: Normalise): T {
  const read = (part: unknown, at: string) => typeof part === "string" ? normalise(part, at) : undefined;
  return mapParts(value, read, undefined, path);
}
