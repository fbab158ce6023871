import { resolve } from "node:path";
import { homeOf, shortPath } from "../../hooks/file/user-places.ts";
import { importedEntries, type ImportedEntry, writeImported } from "../../hooks/import-settings.ts";
import { command, type Usage } from "../kit/flags.ts";
import { asUsage, type Io, UsageError } from "../kit/io.ts";
import { addToHooks, UNTRUSTED } from "./add.ts";

const USAGE: Usage = {
  name: "hooks import",
  words: "<settings.json>",
  about:
    "Writes each hook of Claude Code's settings as a script into ./hooks, to check, to test and to install in any " +
    "host. The settings stay as they are, and no file is overwritten.",
  flags: [["--json", "print JSON"]],
  example: "crochet hooks import .claude/settings.json",
};

export default command(USAGE, async ({ words }, io) => {
  if (words.length !== 1) throw new UsageError(`Cannot import ${words.length} files: name one, as in ${USAGE.example}`);
  const { cwd } = io;
  const path = resolve(io.cwd, words[0]!);
  const { entries, shown } = await entriesOf(path, cwd, io, "import");
  const left = entries.flatMap((entry) => "why" in entry ? [entry] : []);
  const leftText = left.map(({ at, why }) => `  left out ${at}: ${why}\n`).join("");
  if (left.length === entries.length) {
    throw new Error(`Cannot import ${shown} as nothing of it can be a script\n${leftText.trimEnd()}`);
  }
  let files: ReturnType<typeof writeImported> = [];
  const trusted = addToHooks(cwd, io, (folder) => files = writeImported(entries, folder));
  const lines = files.map(({ at, file, isNew }) => `${isNew ? "wrote" : "found"} hooks/${file}  ${at}\n`).join("");
  const twice =
    `Both are hooks now, and would run twice: remove these from ${shown}, then 'crochet hooks install --for ` +
    "claude' lets it run the files\n";
  const text = `${lines}${leftText}${twice}${trusted ? `next: crochet hooks check hooks\n` : UNTRUSTED}`;
  const hooks = files.map(({ at, file, isNew }) => ({ at, file: `hooks/${file}`, isNew }));
  return { data: { hooks, left, trusted }, text };
});

/** @throws {UsageError} if the settings cannot be read */
export async function entriesOf(
  path: string,
  cwd: string,
  { env }: Pick<Io, "env">,
  verb: string,
): Promise<{ readonly entries: readonly ImportedEntry[]; readonly shown: string }> {
  const shown = shortPath(path, cwd, env);
  const entries = await importedEntries(path, { project: cwd, home: homeOf(env), shown, verb }).catch(asUsage);
  return { entries, shown };
}
