import { Buffer } from "node:buffer";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { refusalOf } from "../../files/drafts.ts";
import type { Io } from "../kit/io.ts";
import { pathFrom } from "./call-subject.ts";

/** Writes a page where a person says, which may be a device; only its user may read what it shows. */
export function writePage(path: string, html: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, html, { mode: 0o600 });
  } catch (error) {
    const why = refusalOf(error);
    throw new Error(`Cannot write ${path} as ${why}${why.includes(": ") ? "" : ": give another --out"}`);
  }
}

/** What is printed of a page that was written: its path alone on a pipe, and for a person what opens it. */
export function pageText(path: string, html: string, io: Pick<Io, "cwd" | "env" | "tty">): string {
  if (!io.tty) return `${path}\n`;
  const shown = pathFrom(io.cwd, path);
  const opener = io.env.BROWSER || (process.platform === "darwin" ? "open" : "xdg-open");
  const size = Math.ceil(Buffer.byteLength(html) / 1024);
  return `wrote ${shown} (${size} KB)\nopen it in a browser: ${opener} ${shown}\n`;
}
