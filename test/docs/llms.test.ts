/** `llms.txt`, by which an agent finds the pages, and what of them is in the package. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { llmsText } from "../../docs/llms.ts";
import { packedFiles } from "../../lib/extensions/setup/packed.ts";
import { ROOT } from "../house/_files.ts";
import { put, scratch } from "../_scratch.ts";

test("llms.txt is what its script makes of the pages: bun run docs/llms.ts", () => {
  assert.equal(readFileSync(join(ROOT, "llms.txt"), "utf8"), llmsText());
});

test("llms.txt names every page of docs, each by a path that the package has", () => {
  const named = [...llmsText().matchAll(/^- \[.+?\]\((.+?)\): \S.{40,}$/gm)].map(([, path]) => path!);
  const pages = readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`);
  assert.deepEqual([...named].sort(), [...pages, "README.md", "hooks/README.md"].sort());
  const lines = llmsText().split("\n").filter((line) => line.startsWith("- "));
  assert.equal(lines.length, named.length);
  using clone = scratch();
  const files = [...named, "llms.txt", "docs/llms.ts", "docs/images/a.png", "dist/a.js", "lib/cli/crochet"];
  put(clone.path, { "lib/hooks/adapters/a.ts": "", "lib/extensions/view/page/a.js": "" });
  put(clone.path, { "package.json": '{ "exports": {} }', ".dist-manifest/package.json": "{}" });
  put(clone.path, Object.fromEntries(files.map((path) => [path, ""])));
  const packed = packedFiles(clone.path).map(({ path }) => path);
  assert.deepEqual([...named, "llms.txt"].filter((path) => !packed.includes(path)), []);
  assert.deepEqual(packed.filter((path) => /\.orig$|llms\.ts$|images|manifest/.test(path)), []);
});
