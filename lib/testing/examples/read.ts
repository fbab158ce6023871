import { existsSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { sha256 } from "../../core/sha256.ts";
import { importModule } from "../../hooks/file/import.ts";
import { HookLoadError } from "../../hooks/file/load-error.ts";
import type { HookFile } from "../../hooks/discover.ts";
import { readYaml } from "../../hooks/rule/yaml.ts";
import { BadExample, type Example, readExampleList } from "./example.ts";
import { sidecarsOf } from "./sidecars.ts";

/**
 * The examples of a hook: those its module exports, and those of `<hook>.examples.yaml` beside it. Importing the
 * module runs it: where it is not trusted, this is done in a process of its own.
 *
 * @throws {HookLoadError} with the place to mend
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
