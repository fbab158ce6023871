/** Long output of a command and of a hook, on a disk with little room; says how each ended. */
import { spawnSync } from "node:child_process";
import { runProcess } from "../../lib/process/process.ts";
import { Bash } from "../../lib/tools/index.ts";
import { standaloneContext } from "../../lib/tools/standalone.ts";

const [cwd] = process.argv.slice(2) as [string];
const long = (bytes: number) => `head -c ${bytes} /dev/zero | tr '\\0' x`;
spawnSync("prlimit", [`--pid=${process.pid}`, "--fsize=10000"]);
const input = { command: long(100_000), description: "long" };
const bash = await Promise.resolve(Bash.run(input, standaloneContext("Bash", input, { cwd }))).then(
  () => "kept",
  (error: Error) => error.message,
);
const hook = await runProcess({ command: long(9_000_000), cwd, env: process.env, outputDir: () => cwd }).then(
  () => "kept",
  (error: Error) => error.message,
);
process.stdout.write(JSON.stringify({ bash, hook }));
process.exit();
