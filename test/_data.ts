import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The path of a file of `test/data`, which we made ourselves by running programs. */
export function testData(path: string): string {
  return fileURLToPath(new URL(`data/${path}`, import.meta.url));
}

/** The path of recordings of other programs, which hold others' words and are not in the project; or undefined. */
export function recordings(path: string): string | undefined {
  const full = fileURLToPath(new URL(`../../shared/data/${path}`, import.meta.url));
  return existsSync(full) ? full : undefined;
}

/** Why tests of them are skipped, and how to get them; false if they are there. */
export const noRecordings: string | false = !recordings("cassettes") &&
  "recordings of other programs are not here: ask the authors for the folder 'shared', to lie beside the checkout";
