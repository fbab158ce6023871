/** Claims each id that comes in, a line each, and says whether it got it; keeps what it got. */
import { createInterface } from "node:readline";
import { jsonlStore } from "../../../lib/log/stores/jsonl.ts";

const store = jsonlStore(process.argv[2]!);
process.stdout.write("ready\n");
for await (const id of createInterface({ input: process.stdin })) {
  const got = await store.lock!(id).then(() => "yes", () => "no");
  process.stdout.write(`${got}\n`);
}
