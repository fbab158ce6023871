/** One thing that was looked at. */
export interface Check {
  readonly about: string;
  readonly state: "ok" | "warning" | "broken";
  /** What was seen; never a secret. */
  readonly words: string;
  readonly fix?: string;
}

export const ok = (about: string, words: string): Check => ({ about, state: "ok", words });
export const warning = (about: string, words: string, fix: string): Check => ({
  about,
  state: "warning",
  words,
  fix,
});
export const broken = (about: string, words: string, fix?: string): Check => ({
  about,
  state: "broken",
  words,
  ...(fix !== undefined && { fix }),
});

/** Splits "what: the fix"; a message without a fix is all words. */
export function parted(message: string): { words: string; fix?: string } {
  const at = message.lastIndexOf(": ");
  return at < 0 ? { words: message } : { words: message.slice(0, at), fix: message.slice(at + 2) };
}
