/** Runs a family on a journal until it is killed or done; prints each Result. Arguments: folder, role, how many. */
import { join } from "node:path";
import { sqliteSteps } from "../../lib/durable/index.ts";
import { jsonlStore } from "../../lib/transcript/jsonl.ts";
import { family, witnessed } from "./_family.ts";

const [dir, role, count] = process.argv.slice(2) as [string, string, string];
const log = join(dir, "effects.jsonl");
const steps = sqliteSteps(join(dir, "steps.sqlite"));
const who = family(log, {
  step: witnessed(steps, log),
  store: jsonlStore(join(dir, "transcripts")),
});
const results = await Promise.all(
  Array.from({ length: Number(count) }, async (_, i) => {
    const { id, stop, text, messages, usage } = await who.run(`${role} ${i}`, {
      id: `${role}-${i}`,
    });
    return { id, stop, text, messages, usage };
  }),
);
process.stdout.write(JSON.stringify(results));
steps.close();
