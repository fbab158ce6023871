import { basename, dirname, join } from "node:path";
import { extensionOf } from "../../hooks/file/file-name.ts";
import { realOr } from "../../hooks/file/places.ts";

/**
 * Where examples of a hook may stand: `stop.tests.examples.yaml` for `stop.tests.ts`, or with the whole name; for a link
 * also beside what it leads to.
 */
export function sidecarsOf(path: string): readonly string[] {
  return [...new Set([path, realOr(path)])].flatMap(besideFile);
}

function besideFile(path: string): readonly string[] {
  const name = basename(path);
  const stem = name.slice(0, name.length - extensionOf(name).length);
  return [...new Set([name, stem])].map((part) => join(dirname(path), `${part}.examples.yaml`));
}
