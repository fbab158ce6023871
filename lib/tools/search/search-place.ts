import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import { type ToolContext, ToolError } from "../../core/tool.ts";
import { HIDES } from "../tool-state.ts";
import { confine, foldersUp } from "../../files/confine.ts";
import { keyFile } from "../../files/user-key.ts";
import type { PermissionGate } from "../../permissions/gate.ts";

/** What Grep and Glob need of a tool's context. */
export type SearchContext = Pick<ToolContext, "cwd" | "state" | "signal">;

export interface SearchPlace {
  /** As it was asked for, absolute: for texts. */
  readonly path: string;
  readonly directory: string;
  readonly file?: string;
  /** Inside a git repository its own bounds count; outside, a .gitignore counts all the same. */
  readonly requireGit: boolean;
  /** A found path as results show it: relative to the working directory if it is inside, else absolute. */
  readonly shown: (path: string) => string;
}

/** Resolves the folder or file to search; refuses what is outside the workspace, not there, or neither of the two. */
export async function searchPlace(path: string | undefined, context: SearchContext): Promise<SearchPlace> {
  const place = await confine(path ?? context.cwd, context);
  const found = place.exists ? await stat(place.real).catch(() => undefined) : undefined;
  if (!found) {
    const why = `it does not exist: the working directory is ${context.cwd}`;
    throw new ToolError(`Cannot search '${place.path}' as ${why}`, { code: "no_such_file" });
  }
  if (!found.isDirectory() && !found.isFile()) {
    throw new ToolError(`Cannot search '${place.path}' as it is neither a file nor a directory`, {
      code: "not_regular",
    });
  }
  const directory = found.isDirectory() ? place.real : dirname(place.real);
  const asked = found.isDirectory() ? place.path : dirname(place.path);
  const within = relative(context.cwd, asked);
  const base = within === ".." || within.startsWith("../") || isAbsolute(within) ? asked : within;
  const prefix = base === "" || base.endsWith("/") ? base : `${base}/`;
  return {
    path: place.path,
    directory,
    ...(found.isFile() && { file: basename(place.real) }),
    requireGit: foldersUp(directory).some((folder) => existsSync(join(folder, ".git"))),
    shown: (name) => prefix + name,
  };
}

/** What was found without the files that the agent's rules keep to themselves, and a sentence about those. */
export function withoutHidden<T>(
  tool: string,
  found: readonly T[],
  pathOf: (found: T) => string,
  { directory, file }: SearchPlace,
  { state, cwd }: SearchContext,
): { readonly files: readonly T[]; readonly withheld: string | undefined } {
  const hides = (state.get(HIDES) as PermissionGate["hides"] | undefined)?.({ tool, cwd, directory, file });
  const key = keyFile();
  const files = found.map((file) => [file, join(directory, pathOf(file))] as const)
    .filter(([, path]) => path !== key && !hides?.(path)).map(([file]) => file);
  const left = found.length - files.length;
  const [are, them] = left === 1 ? ["file is", "it"] : ["files are", "them"];
  return { files, withheld: left === 0 ? undefined : `${left} ${are} not shown as permission rules are about ${them}` };
}
