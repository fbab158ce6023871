import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A scratch folder that goes when the test ends: `using folder = scratch()`. */
export function scratch(): { path: string } & Disposable {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "crochet-test-")));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
