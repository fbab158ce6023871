import type { Hook } from "crochet";
// never: blind changes

/** An agent reads a file before it changes it: it then changes what is there, and not what it imagines. */
const readFirst: Hook<"pre-tool-use" | "post-tool-use"> = async (event, ctx) => {
  const { file_path } = event.input;
  if (typeof file_path !== "string") return;
  // Two spellings of a path are one file.
  const path = await ctx.files.realPath(file_path);
  const key = `read-first:${path}`;
  // What it has read, or written itself, it knows.
  if (event.event === "post-tool-use") return void ctx.values.set(key, "known");
  if (ctx.values.has(key)) return;
  const slash = path.lastIndexOf("/");
  if (!(await ctx.files.list(path.slice(0, slash) || "/")).includes(path.slice(slash + 1))) return;
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
