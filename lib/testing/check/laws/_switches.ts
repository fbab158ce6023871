/** How shells, node and Python compare a variable with what switches something on. */
const COMPARED: readonly RegExp[] = [
  /\$\{?([A-Z][A-Z0-9_]{3,})(?::?-[^}]*)?\}?"?\s*(?:!=|==?|-ne|-eq)\s*"?([\w.-]+)"?/g,
  /process\.env\.([A-Z]\w{3,})\s*[!=]==?\s*["']([\w.-]+)["']/g,
  /environ(?:\.get\(|\[)["']([A-Z]\w{3,})["'][^=!\n]*[!=]=\s*["']([\w.-]+)["']/g,
];
const OFF = /^(?:0|false|off|no|none|null|undefined)$/i;
/** What is no switch, or one that switches off. */
const OTHERS =
  /^(?:HOME|PATH|PWD|SHELL|TERM|USER|LANG|OSTYPE|UID|EUID|PPID|TMPDIR|NODE_ENV|BASH\w*)$|PROJECT_DIR|SKIP|DISABLE|^NO_/;

/** Variables that switch a hook on, as its text compares them: without them it may do nothing at all. */
export function switchesIn(text: string): { readonly [name: string]: string } {
  const found: { [name: string]: string } = {};
  const assigned = new Set(
    [...text.matchAll(/^\s*(?:export |local |const |let )?([A-Z][A-Z0-9_]{3,})\s*=/gm)].map(([, name]) => name),
  );
  for (const pattern of COMPARED) {
    for (const [, name, value] of text.matchAll(pattern)) {
      if (!OFF.test(value!) && !OTHERS.test(name!) && !assigned.has(name)) found[name!] ??= value!;
    }
  }
  return found;
}
