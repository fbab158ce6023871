import { writeFileSync } from "node:fs";

/** What the model reads whole, and what it reads of more than that; both in characters. */
const WHOLE = 10_000;
const PREVIEW = 2_000;

/** A text for the model, or its beginning and where the whole of it is: in `saved`, or in a file that is now written. */
export function persisted(text: string, file: () => string, saved?: string): string {
  if (text.length <= WHOLE) return text;
  const path = saved ?? file();
  if (saved === undefined) writeFileSync(path, text, { mode: 0o600 });
  return "<persisted-output>\n" +
    `Output too large (${size(text.length)}). Full output saved to: ${path}\n\n` +
    `Preview (first 2KB):\n${preview(text)}\n...\n</persisted-output>`;
}

/** Never half a character: the API refuses lone surrogates. */
function preview(text: string): string {
  return text.slice(0, /[\uD800-\uDBFF]/.test(text[PREVIEW - 1]!) ? PREVIEW - 1 : PREVIEW);
}

function size(bytes: number): string {
  const kilo = bytes / 1024;
  const [value, unit] = kilo < 1024 ? [kilo, "KB"] : [kilo / 1024, "MB"];
  return `${value.toFixed(1).replace(/\.0$/, "")}${unit}`;
}
