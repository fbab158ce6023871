import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { JsonObject } from "../../core/json.ts";
import { PACKAGE } from "../../runtime/own-copy.ts";
import { type Io, UsageError } from "../../cli/kit/io.ts";
import { FOLDER, type Supply, supply } from "./supply.ts";

/** Replaces the crochet that a project brings along by this one; what a person does then. */
export async function upgrade(dir: string, io: Io): Promise<{ data: object; text: string }> {
  const file = join(dir, "package.json");
  const { dependencies = {}, devDependencies = {} } = existsSync(file) ? readManifest(file) : {};
  const field = dependencies.crochet === undefined ? "devDependencies" : "dependencies";
  const from: unknown = dependencies.crochet ?? devDependencies.crochet;
  if (typeof from !== "string") {
    throw new UsageError("Cannot upgrade as no package.json here names crochet: crochet init");
  }
  if (from !== `file:${FOLDER}` && !/^file:vendor\/crochet-[^/]+\.tgz$/.test(from)) {
    throw new UsageError(
      `Cannot upgrade as package.json has crochet from '${from}', not from vendor/: change it there`,
    );
  }
  const old = from.slice("file:".length);
  const given = await supply(PACKAGE, old === FOLDER ? "folder" : "tarball", io);
  if (isThere(dir, old, given)) {
    const text = `${old} is this crochet already: call 'init --upgrade' of a newer one\n`;
    return { data: { dir, from: old, to: old, changed: false }, text };
  }
  replace(dir, old, given);
  await setJson(file, [field, "crochet"], given.dependency);
  if (old === FOLDER) await renameInDenoJson(join(dir, "deno.json"), given);
  if (given.vendored !== old) rmSync(join(dir, old), { recursive: true, force: true });
  const to = given.vendored ?? given.dependency;
  const install = old === FOLDER ? [] : ["  bun install     # or: npm install"];
  const next = [...install, "  crochet replay  # says what drifts: a changed description of a tool does"];
  return { data: { dir, from: old, to, changed: true }, text: [`${old} → ${to}`, "", "Next", ...next, ""].join("\n") };
}

function readManifest(file: string): { readonly [list in "dependencies" | "devDependencies"]?: JsonObject } {
  try {
    return JSON.parse(readFileSync(file, "utf8")) ?? {};
  } catch (error) {
    throw new UsageError(`Cannot upgrade as ${file} is not JSON: ${(error as Error).message}`);
  }
}

function isThere(dir: string, old: string, { vendored, files }: Supply): boolean {
  const same = ({ path, bytes }: Supply["files"][number]) =>
    existsSync(join(dir, path)) && readFileSync(join(dir, path)).equals(bytes);
  return vendored === old && files.every(same);
}

/** A folder is replaced as a whole: what the new package does not have must not stay. */
function replace(dir: string, old: string, { vendored, files }: Supply): void {
  const beside = (path: string) => join(dir, vendored === FOLDER ? path.replace(FOLDER, `${FOLDER}.new`) : path);
  for (const { path, bytes, executable } of files) {
    mkdirSync(dirname(beside(path)), { recursive: true });
    writeFileSync(beside(path), bytes, { mode: executable ? 0o777 : 0o666 });
  }
  if (vendored !== FOLDER) return;
  rmSync(join(dir, old), { recursive: true, force: true });
  renameSync(beside(FOLDER), join(dir, FOLDER));
}

/** What its imports name is the version that the folder has. */
async function renameInDenoJson(file: string, { vendored }: Supply): Promise<void> {
  if (!existsSync(file)) return;
  const { version } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
  writeFileSync(file, readFileSync(file, "utf8").replace(/(npm:\/?crochet@)[\w.+-]+/g, `$1${version}`));
  if (vendored === undefined) await setJson(file, ["links"], undefined);
}

/** Changes one field of a JSON file, and nothing else in it. */
export async function setJson(file: string, path: string[], value: unknown): Promise<void> {
  const { applyEdits, modify } = await import("jsonc-parser");
  const text = readFileSync(file, "utf8");
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
  const formattingOptions = { insertSpaces: !indent.startsWith("\t"), tabSize: indent.length };
  writeFileSync(file, applyEdits(text, modify(text, path, value, { formattingOptions })));
}
