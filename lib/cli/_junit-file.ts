import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Case, junit } from "../tape/drift/report.ts";
import type { Io } from "./_io.ts";

/** Writes the report that `--junit <file>` asks for. Last of all: what a command found is told even where this fails. */
export function writeJunit(cases: readonly Case[], file: unknown, { cwd }: Io): void {
  const path = resolve(cwd, String(file));
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, junit(cases));
  } catch (error) {
    const why = (error as Error).message;
    throw new Error(`Cannot write the JUnit report ${path} as ${why}: give --junit a file that can be written`);
  }
}
