import { createRequire } from "node:module";
import type picocolors from "picocolors";

type Name = "bold" | "dim" | "red" | "green" | "yellow" | "magenta" | "cyan";

export type Colours = { readonly [name in Name]: (text: string) => string } & { readonly coloured: boolean };

const PLAIN: Colours = {
  bold: String,
  dim: String,
  red: String,
  green: String,
  yellow: String,
  magenta: String,
  cyan: String,
  coloured: false,
};

/** Colours on a terminal whose user has not turned them off. */
export function coloursFor(terminal: boolean, env: Readonly<Record<string, string | undefined>>): Colours {
  if (!terminal || env.NO_COLOR || env.TERM === "dumb") return PLAIN;
  // Importing picocolors reads process.stdout, which takes Bun 15 ms to make: not in a pipe.
  const { createColors } = createRequire(import.meta.url)("picocolors") as typeof picocolors;
  return { ...createColors(true), coloured: true };
}
