import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ASIDE, isPutAside } from "../../hooks/file/file-name.ts";
import { type Packed, tar } from "./tar.ts";

/** What the package holds, besides what npm always packs: what was built, and the sources that are used as they are. */
const FILES = ["dist", "docs/*.md", "hooks", "lib/cli/crochet", "lib/hooks/adapters", "lib/extensions/view/page"];
const ALWAYS = /^(README|LICENSE|llms\.txt)/;

/**
 * The package.json of the package. It has no sources: in it Bun reads what was built, as every runtime does, no export
 * may name a source, and there is nothing for scripts to do. `published`: a registry has it under its name.
 */
export function packedManifest(text: string, published = false): string {
  const { scripts: _, devDependencies: __, exports, ...manifest } = JSON.parse(text);
  const built = JSON.parse(JSON.stringify(exports, (key, value) => key === "bun" ? undefined : value));
  const packed = {
    ...manifest,
    exports: built,
    files: [...FILES, "llms.txt", ...ASIDE.map((end) => `!**/*${end}`)],
    ...(published && { crochet: { published } }),
  };
  return `${JSON.stringify(packed, null, 2)}\n`;
}

/** The files of the package, of a clone that was built or of an installed copy, in order. */
export function packedFiles(root: string): Packed[] {
  const paths = [
    ...readdirSync(root).filter((name) => ALWAYS.test(name)),
    ...FILES.flatMap((name) => below(root, name)),
  ];
  const files = paths.filter((path) => !isPutAside(path)).sort().map((path): Packed => {
    const file = join(root, path);
    return { path, executable: (statSync(file).mode & 0o111) !== 0, bytes: readFileSync(file) };
  });
  const manifest = Buffer.from(packedManifest(readFileSync(join(root, "package.json"), "utf8")));
  return [{ path: "package.json", executable: false, bytes: manifest }, ...files];
}

/** The same as the tarball that `npm pack` makes, but for its order. */
export function packedTarball(root: string): Uint8Array {
  return gzipSync(tar(packedFiles(root).map((file) => ({ ...file, path: `package/${file.path}` }))), { level: 6 });
}

function below(root: string, path: string): string[] {
  const [folder, kind] = path.split("/*");
  if (statSync(join(root, folder!)).isFile()) return [path];
  const names = readdirSync(join(root, folder!));
  if (kind !== undefined) return names.filter((name) => name.endsWith(kind)).map((name) => `${folder}/${name}`);
  return names.flatMap((name) => below(root, `${path}/${name}`));
}
