import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const text = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

test("the parts of the SDK that are loaded are always of the version that is installed, and each is built", () => {
  const { devDependencies, dependencies } = JSON.parse(text("package.json"));
  const loader = text("lib/anthropic.ts");
  assert.equal(/SDK_VERSION = "([^"]+)"/.exec(loader)?.[1], devDependencies["@anthropic-ai/sdk"]);
  assert.equal(dependencies["@anthropic-ai/sdk"], undefined, "the parts are bundled: nobody installs the whole");
  const loaded = [loader, text("lib/tape/import/proof.ts")].flatMap((file) =>
    [...file.matchAll(/sdkPart(?:<\w+>)?\("([^"]+)"/g)].map(([, part]) => part)
  );
  const [, built] = /PARTS = (\[.*\]);/.exec(text(".ci/build.ts"))!;
  assert.deepEqual(loaded, JSON.parse(built!));
});
