import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type BuiltFolder, builtProgram } from "../runtime/importing.ts";
import { treeHash } from "./file/hook-tree.ts";

/**
 * Where the files of a folder inside this program are, for processes and for hooks that read what they share. They are put
 * there when they are first needed, and elsewhere again if they are no longer what is inside; they go when the process ends.
 */
export function extracted(folder: BuiltFolder): string {
  if (folder.at !== undefined && existsSync(folder.at) && treeHash(folder.at) === folder.hash) return folder.at;
  const at = folder.at = mkdtempSync(join(privateFolder(), "hooks-"));
  for (const [name, [bytes, executable]] of Object.entries(folder.files)) {
    mkdirSync(dirname(join(at, name)), { recursive: true, mode: 0o700 });
    writeFileSync(join(at, name), Buffer.from(bytes, "base64"), { mode: executable ? 0o500 : 0o400 });
  }
  folder.hash = treeHash(at);
  return at;
}

function privateFolder(): string {
  const program = builtProgram()!;
  if (program.extracted !== undefined && existsSync(program.extracted)) return program.extracted;
  const made = program.extracted = mkdtempSync(join(realpathSync(tmpdir()), "crochet-built-"));
  process.on("exit", () => rmSync(made, { recursive: true, force: true }));
  return made;
}
