import { basename, dirname, join } from "node:path";
import { extensionOf } from "../../hooks/file/file-name.ts";

/** Where examples of a hook may stand: `stop.tests.examples.yaml` for `stop.tests.ts`, or with the whole name. */
export function sidecarsOf(path: string): readonly string[] {
  const name = basename(path);
  const stem = name.slice(0, name.length - extensionOf(name).length);
  return [...new Set([name, stem])].map((part) => join(dirname(path), `${part}.examples.yaml`));
}
