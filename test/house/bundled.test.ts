import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

const at = (path: string) => new URL(`../../${path}`, import.meta.url);
const text = (path: string) => readFileSync(at(path), "utf8");
const { dependencies, devDependencies, peerDependencies } = JSON.parse(text("package.json"));
const BUNDLED = ["@anthropic-ai/sdk", "@opentelemetry/api", "fast-check"];

test("what is bundled is always of the version that is installed here", () => {
  const versions = [
    /SDK_VERSION = "([^"]+)"/.exec(text("lib/anthropic.ts"))?.[1],
    /opentelemetry-(\d[^"]+)\.js"/.exec(text("lib/telemetry.ts"))?.[1],
    /fast-check-(\d[^"]+)\.js"/.exec(text("lib/testing/arbitraries/fast-check.ts"))?.[1],
  ];
  assert.deepEqual(versions, BUNDLED.map((name) => devDependencies[name]));
});

test("what is bundled is never installed with us, and no SDK or OpenTelemetry beside us forbids the install", () => {
  assert.deepEqual(BUNDLED.filter((name) => name in dependencies), []);
  // npm refuses where an optional peer is there in a version out of the range.
  assert.deepEqual(["@anthropic-ai/sdk", "@opentelemetry/api"].map((name) => peerDependencies[name]), ["*", "*"]);
});

test("every part that is loaded is built", () => {
  const sources = ["anthropic", "tape/import/proof", "telemetry", "testing/arbitraries/fast-check"]
    .map((path) => text(`lib/${path}.ts`)).join("");
  const loaded = [...sources.matchAll(/sdkPart(?:<\w+>)?\("([^"]+)"|dist\/([\w-]+)-\d/g)].map(([, part, other]) =>
    part ?? other
  );
  const built = [...text(".ci/build.ts").matchAll(/part: "([^"]+)"/g)].map(([, part]) => part);
  assert.deepEqual(loaded, built);
  assert.deepEqual(built.filter((part) => !existsSync(at(`.ci/${part}.ts`))), []);
});
