/** The words of whatever was thrown. Anything can be thrown, and reading it must not throw again. */
export function thrownWords(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message || error.name) : String(error);
  } catch {
    return "it threw something that cannot be shown";
  }
}

/** What was thrown as an error, which it mostly is already. */
export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(thrownWords(error));
}
