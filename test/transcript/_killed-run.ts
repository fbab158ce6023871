/** Runs a scripted agent until it is killed or done. Prints `acked N` once N messages are acknowledged by the store, `end TEXT` at the end. */
import { agent, tool } from "../../lib/index.ts";
import type { ModelRequest } from "../../lib/core/model.ts";
import { scripted } from "../../lib/testing/scripted.ts";
import { jsonlStore } from "../../lib/transcript/jsonl.ts";
import { sqliteStore } from "../../lib/transcript/sqlite.ts";
import type { TranscriptStore } from "../../lib/transcript/store.ts";

const [kind, path, resume] = process.argv.slice(2) as [string, string, string?];
const inner: TranscriptStore = kind === "jsonl" ? jsonlStore(path) : sqliteStore(path);
const store: TranscriptStore = {
  ...inner,
  async append(id, entries) {
    await inner.append(id, entries);
    for (const entry of entries) if (entry.type === "message") process.stdout.write(`acked ${id} ${entry.index + 1}\n`);
  },
};
const step = tool({
  name: "Step",
  description: "",
  effect: "write",
  input: { type: "object", properties: { n: { type: "number" } } },
  run: async ({ n }: { n: number }) => {
    await new Promise((resolve) => setTimeout(resolve, 2));
    return `did ${n}`;
  },
});
const STEPS = 12;
const model = scripted([], {
  then: ({ messages }: ModelRequest) => {
    const n = messages.filter((m) => m.role === "assistant").length;
    return n < STEPS ? { tools: [{ name: "Step", input: { n }, id: `toolu_${n}` }] } : { text: "all steps done" };
  },
});
const worker = agent({ name: "worker", model, tools: [step], store });
const result = resume ? await worker.resume(resume, "go on") : await worker.run("do the steps");
process.stdout.write(`end ${result.text}\n`);
