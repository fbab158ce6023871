/**
 * Goes on where a hook or a tool lets an error fall that nobody catches: what it answers counts all the same. Bun does so
 * by itself; Deno and Node would end the process, and with it the run, or the refusal of a guard.
 */
export function outliveStrays(): void {
  if ("Bun" in globalThis) return;
  const tell = (error: unknown) => {
    console.error(error);
    // For an error of ours that ends everything: no exit code of a command comes after it.
    process.exitCode = 1;
  };
  process.on("uncaughtException", tell);
  process.on("unhandledRejection", tell);
}
