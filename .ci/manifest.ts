/** Writes package.json as the package has it (`pack`), and as it was (`restore`). */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packedManifest } from "../lib/extensions/setup/packed.ts";

const MANIFEST = fileURLToPath(new URL("../package.json", import.meta.url));
/** No packer takes what is in it, and git ignores it. */
const BESIDE = fileURLToPath(new URL("../.dist-manifest", import.meta.url));
const KEPT = join(BESIDE, "package.json");

if (process.argv[2] === "restore") {
  renameSync(KEPT, MANIFEST);
  rmSync(BESIDE, { recursive: true });
} else {
  const text = readFileSync(MANIFEST, "utf8");
  if (JSON.parse(text).scripts) {
    mkdirSync(BESIDE, { recursive: true });
    writeFileSync(KEPT, text);
  } // else an interrupted pack left it as it is packed
  writeFileSync(MANIFEST, packedManifest(text, process.env.npm_command === "publish"));
}
