import type { Hook, HookContext } from "crochet";

/** An agent reads a file before it changes it: it then changes what is there, and not what it imagines. */
const readFirst: Hook<"pre-tool-use" | "post-tool-use"> = async (event, ctx) => {
  const { file_path } = event.input;
  if (typeof file_path !== "string") return;
  const key = await keyOf(file_path, ctx);
  // What it has read, or written itself, it knows.
  if (event.event === "post-tool-use") return void ctx.values.set(key, "known");
  const { existsSync } = await import("node:fs");
  if (ctx.values.has(key) || !existsSync(key.slice(KEY.length))) return;
  return { action: "deny", reason: `Read ${file_path} before you change it: you have not seen what is in it.` };
};
export default readFirst;
export const config = { also: ["pre-tool-use@MultiEdit", "post-tool-use@Read+Edit+MultiEdit+Write"] };
export const examples = [
  { event: { tool_input: { file_path: "src/app.ts" } }, expect: { action: "deny", reason: /have not seen/ } },
  { event: { tool_name: "Write", tool_input: { file_path: "src/brand-new.ts" } }, expect: "continue" },
  { after: [{ event: "post-tool-use", tool_name: "Read" }], expect: "continue", name: "what was read may be changed" },
  { event: { tool_input: { file_path: 5 } }, expect: "continue", name: "a call without a path" },
];

const KEY = "read-first:";

/** Two spellings of a path are one file. */
async function keyOf(path: string, { cwd }: HookContext): Promise<string> {
  const { resolve } = await import("node:path");
  const { realpathSync } = await import("node:fs");
  const full = resolve(cwd, path);
  try {
    return KEY + realpathSync(full);
  } catch {
    return KEY + full;
  }
}
