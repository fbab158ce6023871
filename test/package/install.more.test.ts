/** The install section of docs/install.md, typed in a fresh clone by people who have npm, Bun or Deno and nothing else. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { scratch } from "../_scratch.ts";
import { npmFolder } from "./_first-project.ts";
import { alone, clone, node, run, runIn } from "./_install.ts";
import { PLAIN } from "./_sources.ts";
import { test } from "./_online.ts";

const BIN = fileURLToPath(new URL("../../node_modules/.bin", import.meta.url));
const skip = "Deno" in globalThis
  ? "each machine is tried once, under Bun"
  : !process.env.CROCHET_TEST_LONG && "it installs packages: CROCHET_TEST_LONG=1";

/** The rows of the table: runtime, what is typed in the clone and in the project, and what runs an agent. */
const ROWS = [
  ...readFileSync(new URL("../../docs/install.md", import.meta.url), "utf8")
    .matchAll(/^\| ((?:Bun|Deno|Node) [\w.]+)[^|]*\| `([^`]+)` \| `([^`]+)` \| `([^`"]+)/gm),
].map(([, runtime, prepare, install, start]) => ({ runtime, prepare, install, start }) as Record<string, string>);

test("docs/install.md says how to install on each runtime", () => {
  assert.deepEqual(ROWS.map(({ runtime }) => runtime), ["Bun 1.4", "Deno 2.9", "Deno without", "Node 24.2", "Node 20"]);
});

/** A Node with its npm. */
function npm(folder: string, which: "node" | "node20"): string | undefined {
  const place = node(folder, which);
  if (place === undefined) return undefined;
  for (const name of ["npm", "npx"]) symlinkSync(realpathSync(join(npmFolder(), name)), join(place, name));
  return place;
}
const deno = (folder: string) =>
  alone(folder, "deno", run(folder, join(BIN, "deno"), "eval", "console.log(Deno.execPath())").trim());
/** What is on the PATH of each machine; nothing if there is no such Node. */
const MACHINES: { readonly [runtime: string]: (folder: string) => readonly (string | undefined)[] } = {
  "Bun 1.4": (folder) => [alone(folder, "bun", join(BIN, "bun"))],
  "Deno 2.9": (folder) => [deno(folder), npm(folder, "node20")],
  "Deno without": (folder) => [deno(folder)],
  "Node 24.2": (folder) => [npm(folder, "node")],
  "Node 20": (folder) => [npm(folder, "node20")],
};

for (const { runtime, prepare, install, start } of ROWS) {
  test(`${runtime}: ${prepare}; ${install}; ${start}`, { skip, timeout: 1_200_000 }, (t) => {
    using folder = scratch();
    const path = MACHINES[runtime!]!(folder.path);
    if (path.includes(undefined)) return t.skip("there is no such Node, here or in the registry");
    const type = (cwd: string, line: string) => runIn(cwd, path.join(delimiter), "sh", "-c", line);
    type(clone(join(folder.path, "crochet")), prepare!);
    const project = join(folder.path, "project");
    mkdirSync(project);
    type(project, install!);
    const file = start!.trim().split(" ").at(-1)!;
    writeFileSync(join(project, file), PLAIN.agent.replace(', hooks: "./hooks"', ", hooks: []"));
    assert.match(type(project, start!), /"stop":"done"/);
  });
}
