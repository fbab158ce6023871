/** Calls `last` as this process ends; `deno test` ends without the event of Node, and the others without that of the web. */
export function atExit(last: () => void): void {
  if ("Deno" in globalThis) addEventListener("unload", last, { once: true });
  else process.once("exit", last);
}
