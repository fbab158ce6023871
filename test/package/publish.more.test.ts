/** The package as `npm publish` and `deno publish` would send it, judged by other people's tools. Nothing is published. */
import assert from "node:assert/strict";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import { packedFiles, packedTarball } from "../../lib/extensions/setup/packed.ts";
import { scratch } from "../_scratch.ts";
import { clone, runIn } from "./_install.ts";
import { test } from "./_online.ts";
import { ROOT } from "../_runtime.ts";

const BIN = join(ROOT, "node_modules/.bin");
const PATH = `${BIN}:${process.env.PATH}`;
const skip = "Deno" in globalThis && "each tool is asked once, under Bun";
const LONG = { skip };

const folder = scratch();
after(() => folder[Symbol.dispose]());
const copy = join(folder.path, "crochet");
const tarball = join(folder.path, "crochet.tgz");
/** What the dry run says; it builds what the tarball is then made of. */
let said: string | undefined;
function dryRun(): string {
  if (said !== undefined) return said;
  clone(copy);
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  said = type(copy, "npm publish --dry-run");
  writeFileSync(tarball, packedTarball(copy));
  return said;
}
const type = (cwd: string, line: string) => runIn(cwd, PATH, "sh", "-c", `${line} 2>&1`);

test("npm publish --dry-run has nothing to warn of but that nobody is logged in", LONG, () => {
  const said = dryRun();
  const manifest = readFileSync(join(ROOT, "package.json"), "utf8");
  const warnings = said.split("\n").filter((line) =>
    /^npm (?:warn|error)/.test(line) && !/ (?:user|env) config /.test(line)
  );
  assert.deepEqual(warnings.filter((line) => !/requires you to be logged in/.test(line)), []);
  assert.match(said, new RegExp(`^\\+ crochet@${JSON.parse(manifest).version}$`, "m"));
  assert.equal(Number(/total files: (\d+)/.exec(said)![1]), packedFiles(copy).length, "init and the tag have the same");
  assert.equal(readFileSync(join(copy, "package.json"), "utf8"), manifest);
  assert.match(said, / llms\.txt\n/);
  assert.doesNotMatch(said, /\.orig\b/);
});

const TOOLS = [
  { line: "publint@0.3.25 --strict crochet.tgz", of: "the tarball" },
  { line: "@arethetypeswrong/cli@0.18.5 --profile esm-only crochet.tgz", of: "the types of the tarball" },
  { line: "knip@6.44.2", of: "what nothing uses" },
];
for (const { line, of } of TOOLS) {
  test(`${line.split(" ")[0]} has no objection to ${of}`, LONG, () => {
    if (line.includes("crochet.tgz")) dryRun();
    type(line.startsWith("knip") ? ROOT : folder.path, `npx --yes --fetch-retries=0 ${line}`);
  });
}

test("deno publish --dry-run accepts the library, without slow types, as the same version", LONG, () => {
  const read = (name: string) => JSON.parse(readFileSync(join(ROOT, name), "utf8"));
  const [ours, theirs] = [read("package.json"), read("deno.json")];
  assert.equal(theirs.version, ours.version);
  for (const [part, file] of Object.entries(theirs.exports)) assert.equal(ours.exports[part].bun, file);
  // Types are checked by `deno check`.
  assert.match(type(ROOT, "deno publish --dry-run --allow-dirty --no-check"), /Dry run complete/);
});
