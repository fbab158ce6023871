/** Takes a file's lock and keeps it until it is killed: `_edit-hold.ts FILE`. Says "held" when it has it. */
import { withFileLock } from "../../lib/files/lock.ts";

await withFileLock(process.argv[2]!, new AbortController().signal, () => {
  console.log("held");
  return new Promise(() => setInterval(() => {}, 1000));
});
