import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";

/** Makes a file that only its owner may read, or makes it so; what SQLite puts beside its file gets the same rights. */
export function makePrivate(path: string): void {
  if (path === ":memory:") return;
  mkdirSync(dirname(path), { recursive: true });
  closeSync(openSync(path, "a", 0o600));
  chmodSync(path, 0o600);
}
