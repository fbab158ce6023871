import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { sha256 } from "../../files/sha256.ts";
import { importModule } from "../../hooks/file/import.ts";
import { extensionOf } from "../../hooks/file/file-name.ts";
import { HookLoadError } from "../../hooks/file/load-error.ts";
import { realOr } from "../../hooks/file/places.ts";
import type { HookFile } from "../../hooks/discover.ts";
import { readYaml } from "../../hooks/rule/yaml.ts";
import { BadExample, type Example, readExampleList } from "./example.ts";

/**
 * The examples of a hook: those its module exports, and those of `<hook>.examples.yaml` beside it. Importing the
 * module runs it, so a check does this in the hook's own process.
 *
 * @throws {HookLoadError} with the file and line
 */
export async function readExamples(file: HookFile): Promise<readonly Example[]> {
  return [...file.kind === "module" ? await exported(file) : [], ...await beside(file)];
}

async function exported(file: HookFile): Promise<readonly Example[]> {
  const folder = { root: dirname(file.path), shared: "", sharedFiles: [] };
  const version = sha256().update(file.text).digest("hex").slice(0, 16);
  const { examples } = await importModule(folder, file.path, version) as { examples?: unknown };
  if (examples === undefined) return [];
  try {
    return readExampleList(examples, file.name);
  } catch (error) {
    if (error instanceof BadExample) throw new HookLoadError(file.name, undefined, error.message);
    throw error;
  }
}

async function beside(file: HookFile): Promise<readonly Example[]> {
  const path = sidecarsOf(file.at).find((candidate) => existsSync(candidate));
  if (path === undefined) return [];
  const name = basename(path);
  const yaml = await readYaml(readFileSync(path, "utf8"), name);
  try {
    return readExampleList(yaml.value, name);
  } catch (error) {
    if (error instanceof BadExample) throw new HookLoadError(name, yaml.at(error.path), error.message);
    throw error;
  }
}

/**
 * Where examples of a hook may be: `stop.tests.examples.yaml` for `stop.tests.ts`, or with the whole name; for a link
 * also beside its target.
 */
export function sidecarsOf(path: string): readonly string[] {
  return [...new Set([path, realOr(path)])].flatMap(besideFile);
}

function besideFile(path: string): readonly string[] {
  const name = basename(path);
  const stem = name.slice(0, name.length - extensionOf(name).length);
  return [...new Set([name, stem])].map((part) => join(dirname(path), `${part}.examples.yaml`));
}
