import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Place } from "./probe.ts";
import { fill } from "./scratch.ts";
import type { Subject } from "../subject.ts";

/** Fills a place, with the files the hook needs in it. */
export async function fillFor({ copies }: Subject, place: Place): Promise<void> {
  await fill(place);
  for (const { from, to, empty = false } of copies) {
    const path = join(place.root, to);
    mkdirSync(empty ? path : dirname(path), { recursive: true });
    if (empty) continue;
    // Packages are many, and nobody's to change.
    if (basename(from) === "node_modules") symlinkSync(from, path);
    else cpSync(from, path, { recursive: true, dereference: true });
  }
}
