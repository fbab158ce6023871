import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
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

// Kills: a hash that leaves out _ files, trust asked only when a run begins, a command checked at load and not when it runs.
test("a hook whose bytes changed never runs before it is trusted again, and always runs once it is", async () => {
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
      let records = (await sources.refresh()).records;
      const fired = async () => {
        writeFileSync(log, "");
        await fire(records, structuredClone(STOP), environment(cwd).env);
        return readFileSync(log, "utf8").split("\n").filter((line) => line !== "");
      };
      // What was trusted may go on in a session that has it, also when trust is taken back: a module as it was loaded, and
      // a command, which is read when it runs, in a folder that is still the same.
      const everTrusted = new Set<string>();
      let trusted: string | undefined;
      const folderNow = () => JSON.stringify([...now].sort());
      for (const one of steps) {
        if (one.do === "write") put(one.file, one.version);
        else if (one.do === "remove") {
          rmSync(`${cwd}/hooks/${one.file}`, { force: true });
          now.delete(one.file);
        } else if (one.do === "trust") {
          trust(cwd, env);
          trusted = folderNow();
          for (const line of linesOf(now)) everTrusted.add(line);
        } else if (one.do === "revoke") revoke(cwd, env);
        else {
          if (one.refresh) records = (await sources.refresh()).records;
          for (const line of await fired()) {
            const may = line.startsWith("stop.c.sh") ? trusted === folderNow() : everTrusted.has(line);
            assert.ok(may, `${line} ran and was not trusted`);
          }
        }
      }
      trust(cwd, env);
      records = (await sources.refresh()).records;
      assert.deepEqual((await fired()).sort(), linesOf(now));
    }),
    { numRuns: tries(40, 600) },
  );
});
