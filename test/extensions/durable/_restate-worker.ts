/** Serves the family to the engine. Arguments: folder, port, milliseconds that each thing takes. */
import { join } from "node:path";
import { serve } from "../../../lib/extensions/durable/restate.ts";
import { family } from "./_family.ts";
import { ADMIN } from "./_restate.ts";

const [dir, port, ms] = process.argv.slice(2) as [string, string, string];
const log = join(dir, "effects.jsonl");
const worker = await serve([family(log, { ms: Number(ms), isWitness: true })], {
  port: Number(port),
  sharePort: true,
});
await worker.register(ADMIN);
process.stdout.write("listening\n");
