import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { isInside } from "../files/confine.ts";
import type { HookFile } from "../hooks/discover.ts";
import { importsOf } from "../hooks/file/imports.ts";
import type { Example } from "../check/examples/example.ts";
import { arrange } from "../check/examples/play.ts";
import { ROOT } from "./room.ts";
import { MARK, type ToolCall } from "./script.ts";

type MutableObject = { [field: string]: unknown };

/**
 * Makes the project in which a hook is tried: the hook with what it imports, and the packages of the person's project.
 * Gives the folder of the hook, below the new project.
 */
export function makeProject(project: string, { at, event, tools, name }: HookFile, cwd: string): string {
  const from = isInside(at, cwd) ? cwd : dirname(dirname(at));
  // A folder of hooks holds nothing else, which a project does.
  const below = (path: string) => join(dirname(at) === from ? "hooks" : "", relative(from, path));
  const isNamed = name.startsWith(event) || /^\d+-/.test(name);
  const named = isNamed ? name : `${event}${tools.length > 0 ? `@${tools.join("+")}` : ""}.${name}`;
  cpSync(at, join(project, below(dirname(at)), named), { dereference: true });
  for (const path of importsOf(from, [at], (path) => readFileSync(path)).inside.map((file) => join(from, file))) {
    cpSync(path, join(project, below(path)), { dereference: true });
  }
  // What a call of 'npm test' needs, which is the usual one.
  writeFileSync(join(project, "package.json"), `${JSON.stringify({ scripts: { test: "echo 12 passing" } })}\n`);
  const packages = join(cwd, "node_modules");
  mkdirSync(join(project, "node_modules/.bin"), { recursive: true });
  for (const one of existsSync(packages) ? readdirSync(packages) : []) {
    if (!one.startsWith(".") && one !== "crochet") symlinkSync(join(packages, one), join(project, "node_modules", one));
  }
  symlinkSync(ROOT, join(project, "node_modules/crochet"));
  return below(dirname(at));
}

/** Whether an example shows that a hook does something, by one event alone. */
export function showsSomething({ expect: { action }, after }: Example): boolean {
  return after.length === 0 && !["continue", "any", "fail"].includes(action);
}

/** The fields of an example's event, by the names on the wire; its files are put into the project. */
export function arrangeExample({ event, given }: Example, project: string): MutableObject {
  if (given !== undefined) arrange(given, { project, home: dirname(project), tmp: dirname(project) });
  const { input, args, tool, tool_input = input ?? args, tool_name = tool, event: _, ...rest } = event;
  return { ...rest, ...(tool_input !== undefined && { tool_input }), ...(tool_name !== undefined && { tool_name }) };
}

/** Puts what a call names into the project: the file it reads or edits, and the paths of a command. */
export function putNamed({ tool, input: { command, file_path, old_string } }: ToolCall, project: string): void {
  const put = (path: string, text: string) => {
    if (existsSync(path) || !isInside(path, project)) return;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  if (tool === "Edit" || tool === "Read") put(String(file_path), `${old_string ?? MARK}\n`);
  const words = typeof command === "string" ? command.split(/\s+/).slice(1) : [];
  for (const word of words.filter((word) => /^[\w][\w./-]*$/.test(word))) {
    const isFile = /\.\w+$/.test(basename(word)) || existsSync(join(project, word));
    put(join(project, word, isFile ? "" : "kept.txt"), `${MARK}\n`);
  }
}
