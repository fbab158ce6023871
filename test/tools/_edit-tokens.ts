/** Edits `<NAME.k>` to `[NAME.k]` in a file, for k from 0 to COUNT: `_edit-tokens.ts FILE NAME COUNT`. */
import { dirname } from "node:path";
import { edit } from "../../lib/tools/edit.ts";

const [file_path, name, count] = process.argv.slice(2) as [string, string, string];
for (let k = 0; k < Number(count); k++) {
  await edit({ file_path, old_string: `<${name}.${k}>`, new_string: `[${name}.${k}]` }, { cwd: dirname(file_path) });
}
