import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { OUR_RUNTIME } from "../_runtime.ts";
import { scratch } from "../_scratch.ts";

const ours = fileURLToPath(new URL("../../lib/runtime/importing.ts", import.meta.url));

test("only the script that ended the process is reported, not one that was loaded before it", () => {
  using folder = scratch({
    "good.ts": "export default 1;\n",
    "ends.ts": "process.exit(0);\n",
    "load.ts": `import { loadingScript } from ${JSON.stringify(ours)};
for (const name of ["good", "ends"]) await loadingScript(name, () => import(\`./\${name}.ts\`));
`,
  });
  const [program, ...args] = OUR_RUNTIME;
  const { status, stderr } = spawnSync(program, [...args, join(folder.path, "load.ts")], { encoding: "utf8" });
  assert.equal(stderr, "crochet: Cannot load 'ends' as it ended the process: do that only if (import.meta.main)\n");
  assert.equal(status, 1);
});
