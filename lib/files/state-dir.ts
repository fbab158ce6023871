import { join, resolve } from "node:path";

/** Where a project's state lives: `.crochet` in it, or `CROCHET_HOME`. */
export function stateDir(
  cwd: string,
  { CROCHET_HOME: home }: { readonly [name: string]: string | undefined } = process.env,
): string {
  return home ? resolve(cwd, home) : join(cwd, ".crochet");
}
