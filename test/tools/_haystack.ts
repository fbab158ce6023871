import { Buffer } from "node:buffer";

/** Files with and without the word `needle`, some of them left out by a .gitignore. */
export const HAYSTACK = {
  ".gitignore": "dist/\n*.log\n",
  ".env": "needle=1\n",
  "a.ts": "one\nneedle\nthree\nfour\nfive\nsix\nneedle again\n",
  "src/b.py": "Needle\n",
  "src/c.ts": "nothing\n",
  "dist/d.ts": "needle\n",
  "debug.log": "needle\n",
  "image.bin": Buffer.from("needle\n\0needle\n"),
};
