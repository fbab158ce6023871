import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const text = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

test("the part of the SDK that is loaded is always of the version that is installed", () => {
  const { dependencies } = JSON.parse(text("package.json"));
  assert.deepEqual(
    [...text("lib/anthropic.ts").matchAll(/sdk-(\d[\w.-]*)\.js/g)].map(([, version]) => version),
    [dependencies["@anthropic-ai/sdk"]],
  );
});
