import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Packed } from "./tar.ts";
import { runProcess } from "../../process/process.ts";
import { packedFiles, packedTarball } from "./packed.ts";
import { hashOf } from "../../runtime/sha256.ts";
import type { Io } from "../../cli/kit/io.ts";

/** How a project gets this crochet: the dependency in its package.json, and the files that it brings along for it. */
export interface Supply {
  readonly dependency: string;
  /** The file or folder of the project that has it; absent if a registry has it. */
  readonly vendored?: string;
  readonly files: readonly Packed[];
}

/** Where the unpacked package is in a project. */
export const FOLDER = "vendor/crochet";

/**
 * A package of a registry is named, with its version; any other is put into the project, so that it works on every
 * machine. No registry is asked: a name that is free today belongs to anyone tomorrow. A folder is what Deno can take
 * without npm or Bun, a tarball what these install as from a registry.
 */
export async function supply(root: string, form: "tarball" | "folder", io: Io): Promise<Supply> {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const { name, version, crochet } = manifest as { name: string; version: string; crochet?: { published?: boolean } };
  if (crochet?.published) {
    return { dependency: name === "crochet" ? `^${version}` : `npm:${name}@^${version}`, files: [] };
  }
  await build(root, io);
  if (form === "folder") {
    const files = packedFiles(root).map((file) => ({ ...file, path: `${FOLDER}/${file.path}` }));
    return { dependency: `file:${FOLDER}`, vendored: FOLDER, files };
  }
  const bytes = packedTarball(root);
  // npm and Bun keep what they have installed of a name: another state of one version has another name.
  const vendored = `${FOLDER}-${version}-${hashOf(bytes, 8)}.tgz`;
  return { dependency: `file:${vendored}`, vendored, files: [{ path: vendored, executable: false, bytes }] };
}

/** Builds a clone if a source is newer than what was built. In an installed package there are no sources. */
async function build(root: string, io: Io): Promise<void> {
  if (!existsSync(join(root, ".ci/build.ts"))) return;
  if (io.tty) io.err("Packing crochet …\n");
  const bun = "Bun" in globalThis ? process.execPath : join(root, "node_modules/.bin/bun");
  const args = ["run", ".ci/build.ts", "--if-older"];
  const { code, stderr } = await runProcess({ command: bun, args, cwd: root, env: io.env, signal: io.signal });
  if (code === 0) return;
  const why = stderr.trim().split("\n").at(-1) || "it ended early";
  throw new Error(`Cannot pack crochet as it cannot be built: ${why}: run npm install in ${root}`);
}
