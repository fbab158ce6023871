import { copyFileSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { nearest } from "../../input/nearest.ts";
import { isSkipped, parseFileName } from "../../hooks/file/file-name.ts";
import { standings, trust } from "../../hooks/hook-trust.ts";
import { sidecarsOf } from "../../hooks/file/example-files.ts";
import { command, type Usage } from "../kit/flags.ts";
import { type Io, UsageError } from "../kit/io.ts";
import { PACKAGE } from "../../runtime/own-copy.ts";

const USAGE: Usage = {
  name: "hooks add",
  words: "[name]…",
  about: "Copies hooks that come with crochet into ./hooks, for you to use and change. Without a name it lists them.",
  flags: [["--json", "print JSON"]],
  example: "crochet hooks add tests-pass",
};

export default command(USAGE, async ({ words }, io) => {
  const all = shippedHooks();
  if (words.length === 0) {
    const text = all.map(({ name, file }) => `${name.padEnd(16)}${file}\n`).join("");
    return { data: all.map(({ name, file }) => ({ name, file })), text };
  }
  const wanted = words.map((word) => named(word, all));
  const { cwd } = io;
  const there = wanted.find(({ file }) => existsSync(join(cwd, "hooks", file)));
  if (there) throw new Error(`Cannot add '${there.file}' as hooks/${there.file} is there already`);
  // Its examples come along, to test later changes.
  const files = wanted.flatMap(({ path }) => [path, ...sidecarsOf(path).filter((one) => existsSync(one))]);
  const trusted = addToHooks(cwd, io, (folder) => {
    // A copy keeps its mode, so a script can be run.
    for (const file of files) copyFileSync(file, join(folder, basename(file)));
  });
  const added = files.map((file) => `hooks/${basename(file)}`);
  const text = `${added.map((file) => `added ${file}\n`).join("")}${trusted ? "" : UNTRUSTED}`;
  return { data: { added, trusted }, text };
});

/** Adds to the hooks. A trusted folder stays so, as a person asked for the only new bytes, which are ours; gives whether it is. */
export function addToHooks(cwd: string, { env }: Io, write: (folder: string) => void): boolean {
  const folder = join(cwd, "hooks");
  const trusted = !existsSync(folder) || standings(cwd, env).some((s) => s.thing === "hooks" && s.state === "trusted");
  mkdirSync(folder, { recursive: true });
  write(folder);
  if (trusted) trust(cwd, env, "hooks");
  return trusted;
}

/** What there is to do in a folder that is not trusted yet. */
export const UNTRUSTED = "look at ./hooks, then run 'crochet trust'\n";

function named(name: string, all: readonly Shipped[]): Shipped {
  const hook = all.find((one) => one.name === name || one.file === name);
  if (hook) return hook;
  const near = nearest(name, all.flatMap((one) => [one.name, one.file]));
  throw new UsageError(`Cannot add '${name}' as no such hook comes with crochet: did you mean '${near}'?`);
}

/** A hook that comes with crochet. */
interface Shipped {
  readonly file: string;
  readonly path: string;
  /** What people call it: its label, or its whole name if it has no label. */
  readonly name: string;
}

/** The hooks that come with crochet, by name. */
function shippedHooks(): Shipped[] {
  const folder = `${PACKAGE}/hooks`;
  return readdirSync(folder).filter((file) => !isSkipped(file)).sort().map((file) => {
    const path = join(folder, file);
    const { label } = parseFileName(file);
    return { file, path, name: label ?? file };
  });
}
