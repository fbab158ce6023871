/** One thing that was looked at. */
export interface Check {
  readonly about: string;
  readonly state: "ok" | "warning" | "broken";
  /** What was seen; never a secret. */
  readonly words: string;
  readonly mend?: string;
}

export const ok = (about: string, words: string): Check => ({ about, state: "ok", words });
export const warning = (about: string, words: string, mend: string): Check => ({
  about,
  state: "warning",
  words,
  mend,
});
export const broken = (about: string, words: string, mend?: string): Check => ({
  about,
  state: "broken",
  words,
  ...(mend !== undefined && { mend }),
});

/** A sentence "what: the mend" in its parts; one without a mend is all words. */
export function parted(message: string): { words: string; mend?: string } {
  const at = message.lastIndexOf(": ");
  return at < 0 ? { words: message } : { words: message.slice(0, at), mend: message.slice(at + 2) };
}
