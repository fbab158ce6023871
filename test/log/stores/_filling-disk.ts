/** Saves three messages, of which the second does not fit at first, as on a disk that is full for a while, and loads them. */
import { spawnSync } from "node:child_process";
import { user } from "../../../lib/core/messages.ts";
import { jsonlStore } from "../../../lib/log/stores/jsonl.ts";

const store = jsonlStore(process.argv[2]!);
const save = (index: number, words: string) => store.append("a", [{ type: "message", index, message: user(words) }]);
await save(0, "first");
const failed = await save(1, "x".repeat(100_000)).then(() => false, () => true);
spawnSync("prlimit", [`--pid=${process.pid}`, "--fsize=unlimited"]);
await save(1, "second");
const { messages } = (await store.load("a"))!;
process.stdout.write(JSON.stringify({ failed, messages: messages.map(({ content }) => content) }));
