import { extensionOf } from "./file-name.ts";
import { realOr } from "./user-places.ts";

/** Where examples of a hook may be: `stop.tests.examples.yaml` for `stop.tests.ts`; for a link also beside its target. */
export function sidecarsOf(path: string): readonly string[] {
  const stems = [path, realOr(path)].flatMap((one) => [one, one.slice(0, one.length - extensionOf(one).length)]);
  return [...new Set(stems)].map((stem) => `${stem}.examples.yaml`);
}
