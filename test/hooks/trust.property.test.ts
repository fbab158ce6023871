import assert from "node:assert/strict";
import fc from "fast-check";
import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fire } from "../../lib/core/dispatch.ts";
import { HookSources } from "../../lib/hooks/sources.ts";
import { revoke, trust } from "../../lib/hooks/trust.ts";
import { tries } from "../_counts.ts";
import { scratch } from "../_scratch.ts";
import { environment, STOP } from "./_fire.ts";

type Step =
  | {
    readonly do: "write";
    readonly file: "stop.m.ts" | "stop.c.sh" | "_shared.ts" | "stop.n.mjs";
    readonly version: number;
  }
  | { readonly do: "remove"; readonly file: "stop.m.ts" | "stop.c.sh" | "stop.n.mjs" }
  | { readonly do: "trust" }
  | { readonly do: "revoke" }
  | { readonly do: "refresh" }
  | { readonly do: "fire" };

const file = fc.constantFrom("stop.m.ts" as const, "stop.c.sh" as const, "_shared.ts" as const, "stop.n.mjs" as const);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("write" as const), file, version: fc.nat(2) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("remove" as const),
      file: fc.constantFrom("stop.m.ts" as const, "stop.c.sh" as const, "stop.n.mjs" as const),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ do: "trust" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "revoke" as const }) },
  { weight: 2, arbitrary: fc.constant({ do: "refresh" as const }) },
  { weight: 4, arbitrary: fc.constant({ do: "fire" as const }) },
);

/** Each version of each file writes down, when it runs, which bytes ran. */
function text(name: string, version: number, log: string): string {
  if (name === "_shared.ts") return `export const shared = "_shared.ts ${version}";`;
  if (name.endsWith(".sh")) return `#!/bin/sh\necho "${name} ${version}" >> ${log}\n`;
  const shared = name === "stop.m.ts" ? `import { shared } from "./_shared.ts";` : `const shared = "";`;
  return `import { appendFileSync } from "node:fs"; ${shared}
    export default () => { appendFileSync(${
    JSON.stringify(log)
  }, "${name} ${version}\\n" + (shared && shared + "\\n")); };`;
}

// Kills: a hash that leaves out _ files, trust asked only when a run begins, a command checked at load and not when it runs.
test("a hook whose bytes changed never runs before it is trusted again", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
      using folder = scratch();
      const cwd = `${folder.path}/p`;
      const log = `${folder.path}/log`;
      const env = { HOME: `${folder.path}/home`, PATH: process.env.PATH };
      mkdirSync(`${cwd}/hooks`, { recursive: true });
      const now = new Map<string, number>();
      const put = (name: string, version: number) => {
        writeFileSync(`${cwd}/hooks/${name}`, text(name, version, log));
        if (name.endsWith(".sh")) chmodSync(`${cwd}/hooks/${name}`, 0o755);
        now.set(name, version);
      };
      put("_shared.ts", 0);
      put("stop.m.ts", 0);
      put("stop.c.sh", 0);
      /** Every state of every file that was ever trusted since the last word of distrust. */
      const allowed = new Set<string>();
      const sources = new HookSources({ cwd, env });
      let records = (await sources.refresh()).records;
      for (const one of steps) {
        if (one.do === "write") put(one.file, one.version);
        else if (one.do === "remove") {
          rmSync(`${cwd}/hooks/${one.file}`, { force: true });
          now.delete(one.file);
        } else if (one.do === "trust") {
          trust(cwd, env);
          for (const [name, version] of now) allowed.add(`${name} ${version}`);
        } else if (one.do === "revoke") revoke(cwd, env);
        else if (one.do === "refresh") records = (await sources.refresh()).records;
        else await fire(records, structuredClone(STOP), environment(cwd).env);
      }
      const ran = existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [];
      for (const line of ran) if (line !== "") assert.ok(allowed.has(line), `${line} ran and was never trusted`);
      appendFileSync(log, "");
    }),
    { numRuns: tries(40, 600) },
  );
});
