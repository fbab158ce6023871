/** The type by which our own entries are known once they are marked. */
export const OWN_TYPE = "crochet";

/**
 * The settings with those hooks marked that serve a file which is loaded already: installed for the host, found by
 * us too. A hook is one hook, whichever way it was found.
 */
export async function markOwn(text: string, isLoaded: (path: string) => boolean): Promise<string> {
  if (!text.includes(" --dialect ")) return text;
  const { parse } = await import("jsonc-parser");
  const { installedFile } = await import("../install.ts");
  const errors: [] = [];
  const settings = parse(text.replace(/^\uFEFF/, " "), errors, { allowTrailingComma: true }) as Settings | undefined;
  if (errors.length > 0 || typeof settings?.hooks !== "object" || settings.hooks === null) return text;
  let marked = false;
  for (const groups of Object.values(settings.hooks)) {
    for (const group of Array.isArray(groups) ? groups as (Group | null)[] : []) {
      for (const hook of Array.isArray(group?.hooks) ? group.hooks : []) {
        const file = typeof hook?.command === "string" ? installedFile(hook.command) : undefined;
        if (file === undefined || !isLoaded(file)) continue;
        hook!.type = OWN_TYPE;
        marked = true;
      }
    }
  }
  return marked ? JSON.stringify(settings) : text;
}

interface Settings {
  hooks?: { [event: string]: unknown } | null;
}

interface Group {
  hooks?: ({ type?: string; command?: unknown } | null)[];
}
