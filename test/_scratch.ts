import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { removeTree } from "../lib/files/tree.ts";

/** A scratch folder that goes when the test ends: `using folder = scratch()`. */
export function scratch(files: Readonly<Record<string, string>> = {}): { path: string } & Disposable {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "crochet-test-")));
  put(path, files);
  return { path, [Symbol.dispose]: () => removeTree(path) };
}

/** Writes files by their paths below a folder; scripts for a shell can be run. */
export function put(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text, { mode: name.endsWith(".sh") ? 0o755 : 0o644 });
  }
}
