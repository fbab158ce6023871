import { readFileSync } from "node:fs";

/** The version of this package. */
export function versionOf(): string {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return version;
}

export function runtimeVersion(): string {
  const { bun, deno, node } = process.versions;
  return bun ? `bun ${bun}` : deno ? `deno ${deno}` : `node ${node}`;
}

/** What answered, as far as the wire tells. */
export function sourceOf(url: string | undefined, requestId: string | null): string {
  if (requestId?.startsWith("req_scripted_")) return "scripted server";
  const { hostname = "" } = url === undefined ? {} : new URL(url);
  return hostname === "api.anthropic.com" ? "live API" : `gateway ${hostname}`;
}
