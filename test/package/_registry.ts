/**
 * A registry that has one package, out of a tarball, and passes on what it is asked besides: a process of its own, as
 * the tests wait for others. Prints its address. `bun _registry.ts <tarball> <package.json> <registry>`.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename } from "node:path";

const [tarball = "", manifest = "", others = ""] = process.argv.slice(2);
const bytes = readFileSync(tarball);
const described = JSON.parse(readFileSync(manifest, "utf8"));
const { name, version } = described;

const server = createServer(async (request, response) => {
  const path = decodeURIComponent(request.url!);
  if (path === `/${name}/-/${basename(tarball)}`) return response.end(bytes);
  if (path === `/${name}`) return response.end(JSON.stringify(packument()));
  try {
    const answer = await fetch(new URL(request.url!.slice(1), others), {
      headers: { accept: request.headers.accept ?? "*/*" },
    });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
    response.end(new Uint8Array(await answer.arrayBuffer()));
  } catch (error) {
    response.writeHead(502).end(String(error));
  }
});
server.listen(0, "127.0.0.1", () => console.log(address()));

function address(): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function packument(): object {
  const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  const dist = { tarball: `${address()}${name}/-/${basename(tarball)}`, integrity };
  return {
    name,
    "dist-tags": { latest: version },
    versions: { [version]: { ...described, dist } },
    time: { [version]: "2026-01-01T00:00:00.000Z" },
  };
}
