import { resolve } from "node:path";

/** The words of a command line in settings, each as the path that it may be. */
export function pathsIn(
  line: string,
  { project, home }: { readonly project: string; readonly home: string },
): string[] {
  const words = line.replaceAll(/["']/g, "").replaceAll(/\$\{?(?:CLAUDE|GEMINI)_PROJECT_DIR\}?/g, project)
    .replaceAll(/(?<![\w/])~(?=\/)|\$\{?HOME\}?/g, home).split(/[\s`;|&()<>=,[\]]+/);
  return words.filter((word) => word !== "").map((word) => resolve(project, word));
}
