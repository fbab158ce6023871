import { isObject, parsed } from "../../core/json.ts";
import { UnusableAnswer } from "../../core/verdict.ts";

type Printed = { readonly json: Readonly<Record<string, unknown>> } | { readonly plain: string };

/**
 * Tells an answer from plain words. What looks like an answer and cannot be read as one is a failure: taken for
 * words, a denial with a stray line beside it would count as consent.
 *
 * @throws {UnusableAnswer}
 */
export function readStdout(stdout: string): Printed {
  const text = stdout.trim();
  if (!text.startsWith("{")) {
    if (holdsVerdict(text)) throw unreadable("other text stands before its JSON object", text);
    return { plain: text };
  }
  const json = parsed(text);
  if (isObject(json)) return { json };
  if (!/^\{\s*["}]/.test(text) && !text.endsWith("}")) return { plain: text };
  throw unreadable("it looks like a JSON object and is not valid JSON", text);
}

/** Whether words end in an object that would have decided something by itself. */
function holdsVerdict(text: string): boolean {
  const [first, last] = [text.indexOf("\n{"), text.lastIndexOf("\n{")];
  if (first < 0) return false;
  const json = parsed(text.slice(first + 1)) ?? (last === first ? undefined : parsed(text.slice(last + 1)));
  return isObject(json) && ["decision", "hookSpecificOutput", "continue"].some((key) => Object.hasOwn(json, key));
}

function unreadable(why: string, text: string): UnusableAnswer {
  const shown = JSON.stringify(text.length > 120 ? `${text.slice(0, 117)}...` : text);
  return new UnusableAnswer(`Cannot use the hook's output as ${why}: print one object and nothing else, not ${shown}`);
}

/** A first line that sends the hook into the background, and for how many milliseconds at most. */
export function asyncLine(line: string): { readonly timeout: number | undefined } | undefined {
  if (!line.trimStart().startsWith("{")) return undefined;
  const json = parsed(line);
  if (!isObject(json) || json.async !== true) return undefined;
  return { timeout: typeof json.asyncTimeout === "number" ? json.asyncTimeout : undefined };
}
