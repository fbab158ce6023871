/** Which files of ours import which. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { filesUnder, ROOT } from "./house/_files.ts";

export interface Import {
  /** Both from the root of the project: `lib/index.ts`. */
  readonly from: string;
  readonly to: string;
  readonly isType: boolean;
  /** Whether it is done when the file is loaded. */
  readonly isStatic: boolean;
}

/** An import, static or dynamic, with what shows that it is one of types only; or a file that is started or read. */
const IMPORT =
  /((?:import|export) type [^;]*?|typeof )?\b(from|import)\s*\(?\s*"(\.[^"]+)"|new URL\("(\.[^"]+\.ts)", import\.meta\.url\)/g;

/** The imports of every file below these folders, files that do not exist (in the texts of tests) left out. */
export function importsIn(...folders: readonly string[]): Import[] {
  return folders.flatMap((folder) => filesUnder(join(ROOT, folder), ".ts")).flatMap((file) => {
    const text = readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\//g, "");
    return [...text.matchAll(IMPORT)].map(([, types, word, imported, started]) => ({
      from: relative(ROOT, file),
      to: relative(ROOT, join(dirname(file), imported ?? started!)),
      isType: types !== undefined,
      isStatic: word === "from",
    }));
  }).filter(({ to }) => existsSync(join(ROOT, to)));
}

/** The files that reach one of these by imports, and these. */
export function reaching(files: readonly string[], imports: readonly Import[]): Set<string> {
  const by = Map.groupBy(imports, ({ to }) => to);
  const found = new Set(files);
  for (const file of found) for (const { from } of by.get(file) ?? []) found.add(from);
  return found;
}
