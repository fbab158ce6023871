/** crochet init where something is already, or missing. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { place } from "../../_place.ts";

const DENO = "Deno" in globalThis;

test("crochet init never writes over a file, and says which were there", async () => {
  using here = place();
  const dir = join(here.cwd, "mine");
  mkdirSync(dir);
  const own = { "agent.ts": "export default 1;\n", "package.json": '{ "name": "mine" }\n', ".gitignore": "x\n" };
  for (const [path, text] of Object.entries(own)) writeFileSync(join(dir, path), text);
  const made = await here.main(["init", "mine", "--json"]);
  assert.equal(made.code, 0, made.err);
  const { kept, written, notes } = JSON.parse(made.out);
  assert.deepEqual(kept.sort(), [".gitignore", "agent.ts", "package.json"]);
  assert.ok(written.includes("deno.json") && !written.includes("agent.test.ts"));
  assert.deepEqual(written.filter((path: string) => path.startsWith("fixtures/")), ["fixtures/.gitattributes"]);
  assert.match(notes.join("\n"), /no run was recorded[^]*does not name crochet/);
  for (const [path, text] of Object.entries(own)) assert.equal(readFileSync(join(dir, path), "utf8"), text);
});

test("crochet init refuses a file in the place of a directory", async () => {
  using here = place({ taken: "" });
  const { code, err } = await here.main(["init", "taken"]);
  assert.equal(code, 2);
  assert.equal(err, "crochet: Cannot scaffold in 'taken' as it is a file: name a directory\n");
});

test(
  "crochet init replaces a link to a crochet that is gone",
  { skip: DENO && "it links nothing" },
  async () => {
    using here = place();
    mkdirSync(join(here.cwd, "node_modules"));
    symlinkSync(join(here.cwd, "gone"), join(here.cwd, "node_modules/crochet"));
    const { code, err } = await here.main(["init"]);
    assert.equal(code, 0, err);
    assert.ok(existsSync(join(here.cwd, "node_modules/crochet/package.json")));
  },
);

test("U16: crochet init runs nothing of the directory: neither its packages nor its hooks nor a preload", async () => {
  const ran = (name: string) =>
    `import { writeFileSync } from "node:fs"; writeFileSync(process.env.HOME + "/ran-${name}", "");`;
  const manifest = { name: "crochet", type: "module", exports: { ".": "./run.js", "./*": "./run.js" } };
  using here = place({
    "node_modules/crochet/package.json": JSON.stringify(manifest),
    "node_modules/crochet/run.js": `${ran("package")} export const agent = () => ({}), Read = 0, Bash = 0;`,
    "hooks/stop.theirs.ts": `${ran("hook")} export default () => {};`,
    "bunfig.toml": `preload = ["./preload.ts"]\n`,
    "preload.ts": ran("preload"),
  });
  const made = await here.main(["init"]);
  assert.equal(made.code, 0, made.err);
  assert.deepEqual(readdirSync(here.home).filter((name) => name.startsWith("ran-")), []);
  assert.ok(existsSync(join(here.cwd, "fixtures/fix-spelling/tape.jsonl")));
});

test("a script outside any project imports the crochet that runs it", async () => {
  using here = place({
    "x.ts": `import { agent } from "crochet";
import { scripted } from "crochet/testing";
export default agent({ model: scripted([{ text: "from outside" }]) });
`,
  });
  const { out, err } = await here.crochet(["run", "x.ts", "hi"]);
  assert.equal(out, "from outside\n", err);
});
