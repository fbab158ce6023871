import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { OUR_RUNTIME } from "../_runtime.ts";
import { scratch } from "../_scratch.ts";

const ours = fileURLToPath(new URL("../../lib/runtime/importing.ts", import.meta.url));

test("a script that would end the process does not load, also if it catches that, and one before it does", () => {
  using folder = scratch({
    "good.ts": "export default 1;\n",
    "ends.ts": "process.exit(0);\n",
    "catches.ts": "\ntry { process.exit(0); } catch {}\n",
    "load.ts": `import { loadingScript } from ${JSON.stringify(ours)};
for (const name of ["good", "ends", "catches"]) {
  await loadingScript(name, () => import(\`./\${name}.ts\`)).then(
    () => console.log(name, "loads"),
    (error) => console.log(error.message),
  );
}
`,
  });
  const [program, ...args] = OUR_RUNTIME;
  const { status, stdout } = spawnSync(program, [...args, join(folder.path, "load.ts")], { encoding: "utf8" });
  const why = (place: string) => `it ends the process, process.exit(0) at ${place}: do that only if (import.meta.main)`;
  assert.equal(stdout, `good loads\n${why("ends.ts:1")}\n${why("catches.ts:2")}\n`);
  assert.equal(status, 0);
});
