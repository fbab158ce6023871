import { basename, dirname, join } from "node:path";
import { extensionOf } from "./file-name.ts";
import { realOr } from "./user-places.ts";

/**
 * Where examples of a hook may be: `stop.tests.examples.yaml` for `stop.tests.ts`, or with the whole name; for a link
 * also beside its target.
 */
export function sidecarsOf(path: string): readonly string[] {
  return [...new Set([path, realOr(path)])].flatMap(besideFile);
}

function besideFile(path: string): readonly string[] {
  const name = basename(path);
  const stem = name.slice(0, name.length - extensionOf(name).length);
  return [...new Set([name, stem])].map((part) => join(dirname(path), `${part}.examples.yaml`));
}
