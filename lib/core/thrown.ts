/** The words of whatever was thrown. Anything can be thrown, and reading it must not throw again. */
export function thrownWords(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message || error.name) : String(error);
  } catch {
    return "it threw something that cannot be shown";
  }
}

/** What was thrown as an error, which it mostly is already; never throws. */
export function asError(error: unknown): Error {
  try {
    if (error instanceof Error && typeof error.message === "string") return error;
  } catch { /* a proxy */ }
  return new Error(thrownWords(error));
}
