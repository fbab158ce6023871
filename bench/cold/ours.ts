import { agent } from "../../lib/index.ts";

await agent({ model: "claude-bench", hooks: { stop: [() => undefined] } }).run(
  "hi",
  { log: false },
);

console.log(JSON.stringify(process.cpuUsage()));
