import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { writeWhole } from "../../files/drafts.ts";
import { type FileName, parseFileName } from "../../hooks/file/file-name.ts";
import { sidecarsOf } from "../../hooks/file/example-files.ts";
import { command, type Usage } from "../kit/flags.ts";
import { UsageError } from "../kit/io.ts";
import { type Lang, LANGS, newHook } from "./_new-hook.ts";
import { addToHooks, UNTRUSTED } from "./add.ts";

const USAGE: Usage = {
  name: "hooks new",
  words: "<event>[@Tool][.label]",
  about: "Writes a hook into ./hooks with examples of what it does, for you to change. It works as it is. " +
    `The name's ending says the language: ${Object.keys(LANGS).join(", ")}; without one, ts.`,
  flags: [["--json", "print JSON"]],
  example: "crochet hooks new pre-tool-use@Bash.no-unpublish.sh",
};

export default command(USAGE, async ({ words }, io) => {
  const [given = ""] = words;
  const ending = Object.keys(LANGS).find((one) => given.endsWith(LANGS[one as Lang])) as Lang | undefined;
  const lang = ending ?? "ts";
  const file = ending === undefined ? given + LANGS[lang] : given;
  const { hook, examples } = newHook(nameOf(file), lang);
  const { cwd } = io;
  const path = join(cwd, "hooks", file);
  const beside = sidecarsOf(path).at(-1)!;
  for (const one of [path, beside]) {
    if (existsSync(one)) throw new Error(`Cannot write hooks/${basename(one)} as it is there already: add a label`);
  }
  const trusted = addToHooks(cwd, io, () => {
    writeWhole(path, hook, { replace: false, mode: hook.startsWith("#!") ? 0o777 : 0o666 });
    writeWhole(beside, schemaLine(cwd) + examples, { replace: false });
  });
  const wrote = [path, beside].map((one) => `hooks/${basename(one)}`);
  const next = trusted ? `next: crochet hooks test ${wrote[0]}\n` : UNTRUSTED;
  return { data: { wrote, trusted }, text: wrote.map((one) => `wrote ${one}\n`).join("") + next };
});

/** The line by which editors know what may stand in the file, if the project has the schema: in its packages, or in vendor/. */
function schemaLine(cwd: string): string {
  const places = ["node_modules", "vendor"].map((folder) => `${folder}/crochet/dist/schemas/examples.json`);
  const found = places.find((path) => existsSync(join(cwd, path)));
  return found === undefined ? "" : `# yaml-language-server: $schema=../${found}\n`;
}

function nameOf(file: string): FileName {
  try {
    return parseFileName(file);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
