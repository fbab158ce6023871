import type { PostToolUseHook } from "crochet";

/** Writes down every tool call, one JSON line each, in .crochet/audit.jsonl of the project (CROCHET_AUDIT_LOG overrides). */
const auditLog: PostToolUseHook = async (event, ctx) => {
  const { timestamp, session_id, agent_id, tool_name, input, outcome, duration_ms } = event;
  const line = { timestamp, session_id, agent_id, tool_name, about: about(input), outcome, duration_ms };
  // A shell adds a line at once: sessions that share the log do not lose any.
  const { code, stderr } = await ctx.$("/bin/sh", ["-c", APPEND, "sh", JSON.stringify(line)]);
  if (code !== 0) throw new Error(`Cannot write the log: ${stderr.trim()}`);
};
export default auditLog;
export const config = { mode: "observe", also: ["post-tool-use-failure"], nondeterministic: true } as const;

const APPEND = `file=\${CROCHET_AUDIT_LOG:-.crochet/audit.jsonl}
case $file in */*) mkdir -p "\${file%/*}" || exit ;; esac
umask 077; printf '%s\\n' "$1" >> "$file"`;

/** What the call was about: never what was written or read, and nothing that looks like a secret. */
function about(input: { readonly [field: string]: unknown }): string {
  const { file_path, path, command, pattern, url, description } = input;
  const text = [file_path, path, command, pattern, url, description].find((part) => typeof part === "string") ?? "";
  return String(text).slice(0, 300)
    .replace(
      /((?:token|secret|passw(?:or)?d|api[-_]?key|authorization)["']?\s*[=:]?\s*(?:bearer\s+)?["']?)[^\s"']{3,}/gi,
      "$1***",
    )
    .replace(/\b(?:sk-|gh[pousr]_|github_pat_|xox[abprs]-|AKIA|glpat-)[\w-]{8,}/g, "***")
    .replace(/(:\/\/[^\s/:@]+:)[^\s/@]+@/g, "$1***@");
}
