/** Runs a family that is logged until it is killed or done; prints each Result. Arguments: folder, role, how many. */
import { join } from "node:path";
import { family } from "./_family.ts";

const [dir, role, count] = process.argv.slice(2) as [string, string, string];
const who = family(join(dir, "effects.jsonl"), { isWitness: true });
const results = await Promise.all(
  Array.from({ length: Number(count) }, async (_, i) => {
    const options = { id: `${role}-${i}`, log: join(dir, "runs"), durable: true };
    const { id, stop, text, messages, usage } = await who.run(`${role} ${i}`, options);
    return { id, stop, text, messages, usage };
  }),
);
process.stdout.write(JSON.stringify(results));
