import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A directory of its own for the length of `work`; it lies in another one, so that there is an outside. */
export async function inWorkspace<T>(work: (root: string) => T | Promise<T>): Promise<T> {
  const outside = realpathSync(mkdtempSync(join(tmpdir(), "crochet-test-")));
  const root = join(outside, "root");
  mkdirSync(root);
  try {
    return await work(root);
  } finally {
    rmSync(outside, { recursive: true, force: true });
  }
}
