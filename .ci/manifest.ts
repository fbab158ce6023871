/**
 * Writes package.json as the package has it (`pack`), and as it was (`restore`). The package has no sources: in it Bun
 * reads what was built, as every runtime does, no export may name a source, and there is nothing for scripts to do.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const MANIFEST = fileURLToPath(new URL("../package.json", import.meta.url));
const KEPT = fileURLToPath(new URL("../dist/package.json.orig", import.meta.url)); // npm packs no *.orig

if (process.argv[2] === "restore") renameSync(KEPT, MANIFEST);
else {
  const text = readFileSync(MANIFEST, "utf8");
  const { scripts, devDependencies: _, ...manifest } = JSON.parse(text);
  if (scripts) writeFileSync(KEPT, text); // else an interrupted pack left it as it is packed
  const packed = JSON.stringify(manifest, (key, value) => key === "bun" ? undefined : value, 2);
  writeFileSync(MANIFEST, `${packed}\n`);
}
