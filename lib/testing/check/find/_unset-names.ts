import type { Host } from "../../../hooks/serving/from-host.ts";
import type { Subject } from "../subject.ts";

/** Variables that many a hook expects its event in: an event comes on stdin, and no host sets any of these. */
const NAMES =
  /^(?:CLAUDE|CODEX|GEMINI)_(?:TOOL|FILE|EVENT|HOOK_(?:EVENT|TOOL|FILE|INPUT)|PROMPT|USER_PROMPT|COMMAND|BASH|OUTPUT|RESPONSE|LAST|MESSAGE|NOTIFICATION|TRANSCRIPT|STOP|EDITED|MODIFIED|CHANGED)(?:_?[A-Z]+)*$|^TOOL_(?:INPUT|NAME|OUTPUT|ARGS|RESULT)(?:_[A-Z]+)*$|^HOOK_(?:INPUT|EVENT|TOOL|FILE)(?:_[A-Z]+)*$/;

/** Other hosts' names for the folder of a plugin. */
const ROOTS = /^(?!CLAUDE_|PLUGIN_ROOT$)[A-Z]+_PLUGIN_ROOT$/;

/** How programs read what they are given. */
const READS_STDIN = new RegExp(
  [
    /\bstdin\b|\$\(\s*cat\s*[)|2-]|\$\(<\s*\/dev|\bcat\s*(?:[|>-]|$)|readFileSync\(\s*0|\bARGF\b|\bmapfile\b/,
    // `read` outside of a loop over a file, and jq with nothing but its program.
    /(?<!while |while IFS= |IFS= )\bread(?:\s+-\w+)*\s+\w+\s*(?:$|;|<&0)/,
    /(?:^|\$\(|[;&"]\s*)\s*jq(?:\s+-{1,2}[\w-]+)*\s+(?:'[^']*'|[.\w]+)\s*(?:$|[)|;&>2])/,
  ].map(({ source }) => source).join("|"),
  "im",
);

/** What a text asks its environment for and never gets: such a hook knows nothing of its event. */
export function unsetNames(text: string, host: Host): Subject["seen"] {
  const code = text.replaceAll(/^\s*(?:#|\/\/).*$/gm, "");
  const names = readNames(code);
  // Who asks for several works in several hosts.
  const roots = names.some((name) => /^(?:CLAUDE_)?PLUGIN_ROOT$/.test(name))
    ? []
    : names.filter((name) => ROOTS.test(name));
  if (roots.length > 0) {
    return [{
      law: "lawful",
      code: "lawful.unset",
      severity: "fault",
      message: `It reads $${roots[0]}, which ${host} does not set: there it is empty`,
      mend: host === "gemini" ? "write ${extensionPath}" : "write ${CLAUDE_PLUGIN_ROOT}",
    }];
  }
  if (READS_STDIN.test(code)) return [];
  const [name] = names.filter((one) => NAMES.test(one));
  return name === undefined ? [] : [{
    law: "lawful",
    code: "lawful.unset",
    severity: "fault",
    message:
      `It reads $${name}, which ${host} does not set, and never stdin, where the event is: it knows nothing of it`,
    mend: "read the event from stdin, as JSON: input=$(cat), json.load(sys.stdin)",
  }];
}

/** Variables that are read and not set by the text itself. */
function readNames(code: string): string[] {
  const read = [
    ...code.matchAll(/\$\{?([A-Z][A-Z0-9_]{3,})\b/g),
    ...code.matchAll(/\bprocess\.env(?:\.|\[["'])([A-Z][A-Z0-9_]{3,})/g),
    ...code.matchAll(/\b(?:environ(?:\.get\(|\[)|getenv\()\s*["']([A-Z][A-Z0-9_]{3,})/g),
    ...code.matchAll(/\bENV(?:\.fetch\(|\[)["']([A-Z][A-Z0-9_]{3,})/g),
  ].map(([, name]) => name!);
  // `X=${X:-y}` sets what it reads only where something else has.
  const set = new Set(
    [...code.matchAll(/^\s*(?:(?:export|local|readonly)\s+)?([A-Z][A-Z0-9_]{3,})=(?!["']?\$\{?\1\b)/gm)]
      .map(([, name]) => name!),
  );
  return [...new Set(read)].filter((name) => !set.has(name));
}
