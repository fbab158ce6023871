/** Lets runs end one after the other whose questions are answered. Arguments: their folder, how many. */
import { join } from "node:path";
import { replaceState, writeStateFile } from "../../lib/files/state.ts";
import { answersOf, removeAnswers } from "../../lib/log/own.ts";

const [folder, count] = process.argv.slice(2) as [string, string];
const log = join(folder, "run.jsonl");
const draft = join(folder, "draft");
for (let i = 0; i < Number(count); i++) {
  for (const token of ["a", "b", "c", "d"]) {
    writeStateFile(join(draft, `${token}.answer.json`), `{"answer":"yes"}`);
    writeStateFile(join(draft, `${token}.json`), JSON.stringify({ token, about: i, at: 1 }));
  }
  replaceState(draft, answersOf(log));
  removeAnswers(log);
}
