/** Edits a file back and forth until it is killed: `_edit-loop.ts FILE A B`. Says "ready" after the first edit. */
import { dirname } from "node:path";
import { edit } from "../../lib/tools/edit.ts";

let [file_path, old_string, new_string] = process.argv.slice(2) as [string, string, string];
for (let i = 0;; i++) {
  await edit({ file_path, old_string, new_string }, { cwd: dirname(file_path) });
  [old_string, new_string] = [new_string, old_string];
  if (i === 0) console.log("ready");
}
