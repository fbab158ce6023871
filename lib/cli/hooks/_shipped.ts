import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isSkipped, parseFileName } from "../../hooks/file/file-name.ts";

/** A hook that comes with crochet. */
interface Shipped {
  readonly file: string;
  readonly path: string;
  /** What people call it: its label, or its whole name where it has none. */
  readonly name: string;
  readonly executable: boolean;
}

/** The hooks that come with crochet, by name. */
export function shippedHooks(): Shipped[] {
  const folder = fileURLToPath(new URL("../../../hooks", import.meta.url));
  return readdirSync(folder).filter((file) => !isSkipped(file)).sort().map((file) => {
    const path = join(folder, file);
    const { label } = parseFileName(file);
    return { file, path, name: label ?? file, executable: (statSync(path).mode & 0o111) !== 0 };
  });
}
