import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Place } from "./probe.ts";
import type { Scratch } from "./scratch.ts";
import type { Subject } from "../subject.ts";

/** A workspace with the files the hook needs in it. */
export function readyPlace({ copies }: Subject, scratch: Scratch): Place {
  const place = scratch.place();
  for (const { from, to, empty = false } of copies) {
    const path = join(place.root, to);
    mkdirSync(empty ? path : dirname(path), { recursive: true });
    if (empty) continue;
    // Packages are many, and nobody's to change.
    if (basename(from) === "node_modules") symlinkSync(from, path);
    else cpSync(from, path, { recursive: true, dereference: true });
  }
  return place;
}
