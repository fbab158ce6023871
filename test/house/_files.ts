import { readdirSync } from "node:fs";
import { join } from "node:path";

export { LIB, ROOT } from "../_runtime.ts";

/** Every file under a folder, or those with an ending. */
export function filesUnder(folder: string, ending = ""): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort();
}
