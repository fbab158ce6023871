/**
 * Goes on where a hook or a tool lets an error fall that nobody catches: what it answers counts all the same. For Deno
 * and Node, which would end the process, and with it the run, or the refusal of a guard; Bun does so by itself.
 */
export function outliveStrays(): void {
  const tell = (error: unknown) => {
    console.error(error);
    // For an error of ours that ends everything: no exit code of a command comes after it.
    process.exitCode = 1;
  };
  process.on("uncaughtException", tell);
  process.on("unhandledRejection", tell);
}
