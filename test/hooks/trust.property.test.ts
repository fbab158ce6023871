import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { fire } from "../../lib/core/dispatch.ts";
import { HookSources } from "../../lib/hooks/sources.ts";
import { revoke, trust } from "../../lib/hooks/hook-trust.ts";
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
  /** Fires what was loaded last, or what another look at the folder gives. */
  | { readonly do: "fire"; readonly refresh: boolean };

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
  { weight: 5, arbitrary: fc.record({ do: fc.constant("fire" as const), refresh: fc.boolean() }) },
);

/** The files of the folder, and the version each is at. */
type State = ReadonlyMap<string, number>;

/** Each version of each hook writes down, when it runs, which bytes ran; a module also which bytes it shares. */
function text(name: string, version: number, log: string): string {
  if (name === "_shared.ts") return `export const shared = " with _shared.ts ${version}";`;
  if (name.endsWith(".sh")) return `#!/bin/sh\necho "${name} ${version}" >> ${log}\n`;
  const shared = name === "stop.m.ts" ? `import { shared } from "./_shared.ts";` : `const shared = "";`;
  return `import { appendFileSync } from "node:fs"; ${shared}
    export default () => { appendFileSync(${JSON.stringify(log)}, "${name} ${version}" + shared + "\\n"); };`;
}

/** What the hooks of a folder write down when each runs once, in their order. */
function linesOf(state: State): string[] {
  return [...state].filter(([name]) => name !== "_shared.ts").sort().map(([name, version]) =>
    `${name} ${version}${name === "stop.m.ts" ? ` with _shared.ts ${state.get("_shared.ts")}` : ""}`
  );
}

// Kills: a hash that leaves out _ files, a hook reloaded inside a run, a command checked at load and not when it runs.
test("U16: a run never has other hooks than those that were trusted when it began, and always has these", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 14 }), async (steps) => {
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
      const sources = new HookSources({ cwd, env });
      let { records } = await sources.load();
      const fired = async () => {
        writeFileSync(log, "");
        await fire(records, structuredClone(STOP), environment(cwd).env);
        return readFileSync(log, "utf8").split("\n").filter((line) => line !== "");
      };
      // What was trusted may go on in a session that has it, also when trust is taken back: a module as it was loaded, and
      // a command, which is read when it runs, in a folder that is still the same.
      let trusted: State | undefined;
      let loaded: State = new Map();
      let allowed: string[] = [];
      const load = async () => {
        records = (await sources.load()).records;
        loaded = new Map(now);
        const isSame = (name: string) => trusted?.get(name) === now.get(name);
        allowed = isSame("_shared.ts") ? linesOf(new Map([...now].filter(([name]) => isSame(name)))) : [];
      };
      for (const one of steps) {
        if (one.do === "write") put(one.file, one.version);
        else if (one.do === "remove") {
          rmSync(`${cwd}/hooks/${one.file}`, { force: true });
          now.delete(one.file);
        } else if (one.do === "trust") {
          trust(cwd, env);
          trusted = new Map(now);
        } else if (one.do === "revoke") {
          revoke(cwd, env);
          trusted = undefined;
        } else {
          if (one.refresh) await load();
          const isSame = (name: string) => loaded.get(name) === now.get(name);
          // Modules go on as they were loaded; a command whose bytes, or those of the _ files, changed does not run.
          const runs = allowed.filter((line) =>
            !line.startsWith("stop.c.sh") || ["stop.c.sh", "_shared.ts"].every(isSame)
          );
          assert.deepEqual((await fired()).sort(), runs);
        }
      }
      trust(cwd, env);
      records = (await sources.load()).records;
      assert.deepEqual((await fired()).sort(), linesOf(now));
    }),
    { numRuns: tries(40, 600) },
  );
});
