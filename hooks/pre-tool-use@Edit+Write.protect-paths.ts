import type { PreToolUseHook } from "crochet";
// never: changes:.env, changes:hooks/**
/** Paths that an agent must not write, each with the reason it gets. Every path begins with a slash here. Edit the list. */
const PROTECTED: readonly (readonly [path: RegExp, why: string])[] = [
  [/\/\.env(?!\.(?:example|sample|template)$)(?:\.[^/]*)?$/, "it holds secrets"],
  [/\.(?:pem|key|p12|pfx|keystore)$|\/id_(?:rsa|ed25519|ecdsa)$/, "it is a key"],
  [/\/\.git\//, "it belongs to git: use git commands"],
  [/\/node_modules\//, "it is installed: change package.json"],
  [/\/(?:package-lock\.json|pnpm-lock\.yaml|go\.sum)$/, "it is generated"],
  [/\/(?:bun\.lockb?|(?:yarn|deno|uv|[cC]argo|poetry)\.lock)$/, "it is generated"],
  [/\/\.(?:claude|codex|gemini|agent)\/(?:settings\b[^/]*$|hooks?\b)/, "it decides what runs without being asked"],
  [/\/(?:\.crochet\/config\.yaml|hooks\.yaml|\.mcp\.json)$/, "it decides what runs without being asked"],
  [/^\/hooks\//, "it watches over you"],
  [/\/hooks\/[^/]*\b(?:pre-tool-use|permission-request|stop)\b[^/]*$/, "it watches over you"],
];
const protectPaths: PreToolUseHook = async ({ input }, { cwd, files }) => {
  const given = input.file_path ?? input.path;
  if (typeof given !== "string") return { action: "deny", reason: "It names no file, so it cannot be checked" };
  const path = given.trim();
  const project = await files.realPath(cwd);
  // A detour does not help, nor does a link.
  const real = await files.realPath(path);
  const names = [plain(path), real.startsWith(`${project}/`) ? real.slice(project.length) : real];
  const found = PROTECTED.find(([pattern]) => names.some((name) => pattern.test(name)));
  if (found) return { action: "deny", reason: `${path} is protected: ${found[1]}. Ask the person to change it.` };
};
export default protectPaths;
export const config = { also: ["pre-tool-use@MultiEdit"] };

/** The path without its detours. */
function plain(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) part === ".." ? parts.pop() : part !== "." && part !== "" && parts.push(part);
  return `/${parts.join("/")}`;
}
