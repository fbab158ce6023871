import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { nearest } from "../../files/nearest.ts";
import { isSkipped, parseFileName } from "../../hooks/file/file-name.ts";
import { standings, trust } from "../../hooks/trust.ts";
import { sidecarsOf } from "../../testing/examples/example.ts";
import { command, type Usage } from "../_flags.ts";
import { EXIT, UsageError } from "../_io.ts";
import { projectOf } from "../_project.ts";

const USAGE: Usage = {
  name: "hooks add",
  words: "[name]",
  about: "Copies a hook that comes with crochet into ./hooks, for you to use and change. Without a name it lists them.",
  flags: [["--cwd <dir>", "the project"], ["--json", "print data"]],
  example: "crochet hooks add tests-pass",
};

export default command(USAGE, async ({ words, flags }, io) => {
  const all = shippedHooks();
  const [name, ...more] = words;
  if (name === undefined) {
    if (flags.json) io.out(`${JSON.stringify(all.map(({ name, file }) => ({ name, file })), null, 2)}\n`);
    else io.out(all.map(({ name, file }) => `${name.padEnd(16)}${file}\n`).join(""));
    return EXIT.ok;
  }
  if (more.length > 0) throw new UsageError(`Cannot add ${words.length} hooks at once: name one`);
  const hook = all.find((one) => one.name === name || one.file === name);
  if (!hook) {
    const near = nearest(name, all.flatMap((one) => [one.name, one.file]));
    throw new UsageError(`Cannot add '${name}' as no such hook comes with crochet: did you mean '${near}'?`);
  }
  const cwd = projectOf(flags, io);
  const folder = join(cwd, "hooks");
  const target = join(folder, hook.file);
  if (existsSync(target)) throw new Error(`Cannot add '${hook.file}' as hooks/${hook.file} is there already`);
  // A trusted folder stays trusted: the only new bytes are ours, and the user asked for them.
  const trusted = !existsSync(folder) ||
    standings(cwd, io.env).some((s) => s.thing === "hooks" && s.state === "trusted");
  mkdirSync(folder, { recursive: true });
  copyFileSync(hook.path, target);
  if (hook.executable) chmodSync(target, 0o755);
  // Its examples come along, to test later changes.
  for (const examples of sidecarsOf(hook.path).filter((path) => existsSync(path))) {
    copyFileSync(examples, join(folder, basename(examples)));
  }
  if (trusted) trust(cwd, io.env, "hooks");
  if (flags.json) io.out(`${JSON.stringify({ added: target, trusted })}\n`);
  else io.out(`added hooks/${hook.file}${trusted ? "" : ": look at ./hooks, then run 'crochet trust'"}\n`);
  return EXIT.ok;
});

/** A hook that comes with crochet. */
interface Shipped {
  readonly file: string;
  readonly path: string;
  /** What people call it: its label, or its whole name if it has no label. */
  readonly name: string;
  readonly executable: boolean;
}

/** The hooks that come with crochet, by name. */
function shippedHooks(): Shipped[] {
  const folder = fileURLToPath(new URL("../../../hooks", import.meta.url));
  return readdirSync(folder).filter((file) => !isSkipped(file)).sort().map((file) => {
    const path = join(folder, file);
    const { label } = parseFileName(file);
    return { file, path, name: label ?? file, executable: (statSync(path).mode & 0o111) !== 0 };
  });
}
