/** What `.ci/release.ts` tags, and the plain repository, as `bun add` and `npm install` take them from git. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { scratch } from "../_scratch.ts";
import { npmFolder } from "./_first-project.ts";
import { alone, clone, run, runIn } from "./_install.ts";

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

test("a tag of the package is installed by bun and npm, and runs on Bun and Deno", { skip, timeout: 1_200_000 }, () => {
  using folder = scratch();
  const copy = clone(join(folder.path, "crochet"));
  symlinkSync(MODULES, join(copy, "node_modules"));
  writeFileSync(join(copy, ".gitignore"), "node_modules\ndist/\n.dist-*/\n");
  const me = ["-c", "user.name=a", "-c", "user.email=a@b"];
  run(copy, "git", "init", "-q");
  run(copy, "git", "add", ".");
  run(copy, "git", ...me, "commit", "-qm", "first");
  for (const [name, value] of [["user.name", "a"], ["user.email", "a@b"]]) run(copy, "git", "config", name!, value!);
  const tag = /^(\S+) is/m.exec(run(copy, join(MODULES, ".bin/bun"), "run", ".ci/release.ts"))![1]!;
  assert.equal(run(copy, "git", "rev-list", "--count", tag).trim(), "1", "it has no parent");
  assert.equal(run(copy, "git", "status", "--porcelain").trim(), "", "and nothing else has changed");
  const deno = run(copy, join(MODULES, ".bin/deno"), "eval", "console.log(Deno.execPath())").trim();
  const only = { bun: alone(folder.path, "bun", join(MODULES, ".bin/bun")), deno: alone(folder.path, "deno", deno) };
  for (const [way, line] of [["bun", "bun add"], ["npm", "npm install"]]) {
    const project = join(folder.path, `by-${way}`);
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }');
    writeFileSync(join(project, "deno.json"), '{ "nodeModulesDir": "manual" }');
    writeFileSync(join(project, "asks.ts"), ASKS);
    const path = way === "bun" ? only.bun : `${npmFolder()}:/usr/bin:/bin`;
    runIn(project, path, "sh", "-c", `${line} git+file://${copy}#${tag}`);
    assert.ok(readdirSync(join(project, "node_modules")).length <= 20);
    assert.match(runIn(project, only.bun, "bun", "run", "asks.ts"), /not here/);
    assert.match(runIn(project, only.deno, "deno", "run", "-A", "--quiet", "asks.ts"), /not here/);
  }
});
