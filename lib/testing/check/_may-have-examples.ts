import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { extensionOf } from "../../hooks/file/file-name.ts";
import type { Asker } from "./asking/asker.ts";

/** Whether examples of the hook are worth looking for: its module has some, or a file beside it is named so. */
export function mayHaveExamples({ subject: { file }, loaded: { examples } }: Asker): boolean {
  if (file === undefined) return false;
  const name = basename(file);
  const stem = name.slice(0, name.length - extensionOf(name).length);
  return examples !== undefined ||
    [name, stem].some((part) => existsSync(join(dirname(file), `${part}.examples.yaml`)));
}
