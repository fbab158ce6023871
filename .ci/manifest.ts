/** Writes package.json as the package has it (`pack`), and as it was (`restore`). */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { packedManifest } from "../lib/runtime/packed.ts";

const MANIFEST = fileURLToPath(new URL("../package.json", import.meta.url));
const KEPT = fileURLToPath(new URL("../dist/package.json.orig", import.meta.url)); // npm packs no *.orig

if (process.argv[2] === "restore") renameSync(KEPT, MANIFEST);
else {
  const text = readFileSync(MANIFEST, "utf8");
  if (JSON.parse(text).scripts) writeFileSync(KEPT, text); // else an interrupted pack left it as it is packed
  writeFileSync(MANIFEST, packedManifest(text, process.env.npm_command === "publish"));
}
