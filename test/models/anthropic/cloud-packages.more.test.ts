import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import type { AnthropicClient } from "../../../lib/models/anthropic/anthropic-model.ts";
import { type Cloud, CLOUDS } from "./_clouds.ts";
import { recordedAndReplayed } from "./_cloud-run.ts";

/** The client of a cloud's own package; undefined if that is not installed. */
async function packaged(
  { package: name, className, options }: Cloud,
): Promise<((url: string) => AnthropicClient) | undefined> {
  const found = await resolved(name);
  if (found === undefined) return undefined;
  const made = (await import(found))[className] as new (options: object) => AnthropicClient;
  return (url) => new made(options(url));
}

async function resolved(name: string): Promise<string | undefined> {
  try {
    return pathToFileURL(createRequire(join(process.cwd(), "package.json")).resolve(name)).href;
  } catch {
    return undefined;
  }
}

for (const [name, cloud] of Object.entries(CLOUDS)) {
  const client = await packaged(cloud);
  test(`a run through a client of ${name}, that of its package, is recorded and replayed at both seams`, {
    skip: client === undefined && `'npm install --no-save ${cloud.package}' brings what it needs`,
  }, () => recordedAndReplayed(cloud, client!));
}
