/** Waits for a moment, takes a file's lock, and notes when it has it: `_edit-contend.ts FILE NOTES MOMENT`. */
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { withFileLock } from "../../lib/files/lock.ts";

const [file, notes, moment] = process.argv.slice(2) as [string, string, string];
await sleep(Number(moment) - Date.now() - 5);
while (Date.now() < Number(moment));
await withFileLock(file, new AbortController().signal, async () => {
  appendFileSync(notes, "in\n");
  await sleep(15);
  appendFileSync(notes, "out\n");
});
