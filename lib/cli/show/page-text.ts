import { Buffer } from "node:buffer";
import type { Io } from "../kit/io.ts";
import { pathFrom } from "./call-subject.ts";

/** What is printed of a page that was written: its path alone on a pipe, and for a person what opens it. */
export function pageText(path: string, html: string, io: Pick<Io, "cwd" | "env" | "tty">): string {
  if (!io.tty) return `${path}\n`;
  const shown = pathFrom(io.cwd, path);
  const opener = io.env.BROWSER || (process.platform === "darwin" ? "open" : "xdg-open");
  const size = Math.ceil(Buffer.byteLength(html) / 1024);
  return `wrote ${shown} (${size} KB)\nopen it in a browser: ${opener} ${shown}\n`;
}
