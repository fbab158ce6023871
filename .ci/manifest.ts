/**
 * Writes package.json as the package has it (`pack`), and as it was (`restore`). The package has no sources: in it Bun
 * reads what was built, as every runtime does, and no export may name a source.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const MANIFEST = fileURLToPath(new URL("../package.json", import.meta.url));
const KEPT = fileURLToPath(new URL("../dist/package.json.orig", import.meta.url)); // npm packs no *.orig

if (process.argv[2] === "restore") renameSync(KEPT, MANIFEST);
else {
  const text = readFileSync(MANIFEST, "utf8");
  writeFileSync(KEPT, text);
  writeFileSync(MANIFEST, text.replaceAll(/^ +"bun": "\.\/lib.*\n/gm, ""));
}
