/**
 * Writes package.json as the package has it (`pack`), and as the clone has it (`restore`). The package has no sources:
 * in it Bun reads what was built, as every runtime does, and no export may name a source.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const MANIFEST = fileURLToPath(new URL("../package.json", import.meta.url));
const packed = readFileSync(MANIFEST, "utf8").replaceAll(/^ +"bun": "\.\/lib.*\n/gm, "");
writeFileSync(
  MANIFEST,
  process.argv[2] === "restore"
    ? packed.replaceAll(/^( +)"default": "\.\/dist\/(.*)\.js"/gm, '$1"bun": "./lib/$2.ts",\n$&')
    : packed,
);
