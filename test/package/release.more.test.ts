/** What `.ci/release.ts` tags, and the plain repository, as `bun add` and `npm install` take them from git. */
import assert from "node:assert/strict";
import { globSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { put, scratch } from "../_scratch.ts";
import { npmFolder } from "./_first-project.ts";
import { alone, clone, node, run, runIn } from "./_install.ts";
import { test } from "./_online.ts";

const MODULES = fileURLToPath(new URL("../../node_modules", import.meta.url));
const skip = "Deno" in globalThis
  ? "each way is tried once, under Bun"
  : !process.env.CROCHET_TEST_LONG && "it installs packages: CROCHET_TEST_LONG=1";

const ASKS = `import { agent, deny } from "crochet";
import { scripted } from "crochet/testing";
import { Bash } from "crochet/tools";
const hooks = { preToolUse: () => deny("not here") };
const model = scripted([{ tools: [{ name: "Bash", input: { command: "ls" } }] }, { text: "done" }]);
console.log(JSON.stringify((await agent({ model, tools: [Bash], hooks }).run("go")).messages[2]));
`;

const WAYS = [
  { way: "bun", line: "bun add", of: "tag", runs: ["bun", "deno", "node"] },
  { way: "npm", line: "npm install", of: "tag", runs: ["bun", "deno", "node"] },
  { way: "npm", line: "npm install", of: "repository", runs: ["bun", "deno", "node"] },
  // Bun runs no script of a package, so nothing is built.
  { way: "bun", line: "bun add", of: "repository", runs: ["bun"] },
] as const;

test("bun and npm install a tag of the package, or the repository as it is", { skip, timeout: 1_200_000 }, () => {
  using folder = scratch();
  const copy = clone(join(folder.path, "crochet"));
  symlinkSync(MODULES, join(copy, "node_modules"));
  writeFileSync(join(copy, ".gitignore"), "node_modules\ndist/\n.dist-*/\n");
  const manifest = JSON.parse(readFileSync(join(copy, "package.json"), "utf8"));
  const repository = { type: "git", url: "git+https://crochet.example/crochet.git" };
  writeFileSync(join(copy, "package.json"), JSON.stringify({ ...manifest, repository }, null, 2));
  run(copy, "git", "init", "-q");
  for (const [name, value] of [["user.name", "a"], ["user.email", "a@b"]]) run(copy, "git", "config", name!, value!);
  run(copy, "git", "add", ".");
  run(copy, "git", "commit", "-qm", "first");
  const tag = /^(\S+) is/m.exec(run(copy, join(MODULES, ".bin/bun"), "run", ".ci/release.ts"))![1]!;
  assert.equal(run(copy, "git", "rev-list", "--count", tag).trim(), "1", "it has no parent");
  assert.equal(run(copy, "git", "status", "--porcelain").trim(), "", "and nothing else has changed");
  const deno = run(copy, join(MODULES, ".bin/deno"), "eval", "console.log(Deno.execPath())").trim();
  const only = {
    bun: alone(folder.path, "bun", join(MODULES, ".bin/bun")),
    deno: alone(folder.path, "deno", deno),
    node: node(folder.path, "node"),
  };
  const start = { bun: "bun run asks.ts", deno: "deno run -A --quiet asks.ts", node: "node asks.ts" };
  for (const { way, line, of, runs } of WAYS) {
    const project = join(folder.path, `${of}-by-${way}`);
    put(project, {
      "package.json": '{ "private": true, "type": "module" }',
      "deno.json": '{ "nodeModulesDir": "manual" }',
      "asks.ts": ASKS,
    });
    const path = way === "bun" ? only.bun : `${npmFolder()}:/usr/bin:/bin`;
    runIn(project, path, "sh", "-c", `${line} git+file://${copy}${of === "tag" ? `#${tag}` : ""}`);
    const packages = globSync("node_modules/{*,@*/*}/package.json", { cwd: project }).length;
    assert.ok(packages > 10 && packages <= 20, `${packages} packages`);
    for (const name of runs) {
      if (only[name] === undefined) continue; // the registry has no such Node
      assert.match(runIn(project, only[name], "sh", "-c", start[name]), /not here/, `${line}, ${of}, ${name}`);
    }
    const crochet = (on: string) => runIn(project, on, "sh", "-c", "node_modules/.bin/crochet --version 2>&1");
    assert.match(crochet(only.bun), /^\d+\.\d+\.\d+\n$/);
    if (of === "tag" || way === "npm") assert.match(crochet(only.deno), /^\d+\.\d+\.\d+\n$/);
    else assert.throws(() => crochet(only.deno), ({ stdout }) => /install the tag whose name ends in -p/.test(stdout));
  }
});
