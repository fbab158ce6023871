import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Place } from "./probe.ts";

/** How hooks look for a program before they use it: `command -v jq`, `shutil.which("ruff")`. */
const LOOKS = /(?:\bcommand\s+-v|\bwhich|\btype\s+-[pP]|\bhash)\s+["']?([\w.+-]+)|\bwhich\(\s*["']([\w.+-]+)["']/g;

/** Where stand-ins are, at the end of a hook's PATH; outside of what it may change. */
export function standInsOf({ kept }: Place): string {
  return join(kept, "stand-ins");
}

/** The programs that a hook looks for and this machine does not have: without them it may do nothing at all. */
export function soughtInVain(text: string, path = ""): string[] {
  const code = text.replaceAll(/^\s*(?:#|\/\/).*$/gm, "");
  const sought = new Set([...code.matchAll(LOOKS)].map(([, shell, call]) => (shell ?? call)!));
  return [...sought].filter((name) => !path.split(delimiter).some((folder) => existsSync(join(folder, name))));
}

/** Does something while there are programs of these names that do nothing, and do it well. */
export async function withStandIns<T>(names: readonly string[], place: Place, work: () => Promise<T>): Promise<T> {
  const folder = standInsOf(place);
  mkdirSync(folder, { recursive: true });
  try {
    for (const name of names) writeFileSync(join(folder, name), "#!/bin/sh\nexit 0\n", { mode: 0o755 });
    return await work();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
