import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The path of a file of the shared test data, or undefined where that data is not there: such tests are skipped. */
export function sharedData(path: string): string | undefined {
  const full = fileURLToPath(new URL(`../../shared/data/${path}`, import.meta.url));
  return existsSync(full) ? full : undefined;
}
