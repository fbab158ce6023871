import type { HookFiles, StopHook } from "crochet";

/** Sends the agent back while what it changed since the last commit holds a TODO, FIXME or XXX that was not there before. */
const noTodoLeft: StopHook = async ({ stop_hook_active }, ctx) => {
  const before = stop_hook_active ? Number(ctx.values.get(SENT_BACK) ?? 0) : 0;
  const git = (...args: string[]) => ctx.$("git", SAFE.concat(args)).then((ran) => ran.code === 0 ? ran.stdout : "");
  const added = [
    ...lines(await git("diff", "HEAD", "--unified=0", "--no-color", "--no-ext-diff")),
    ...await untracked(await git("ls-files", "--others", "--exclude-standard", "-z"), ctx.files),
  ].filter(({ text }) => /\b(?:TODO|FIXME|XXX)\b/.test(text));
  if (added.length === 0 || before >= MOST || await ctx.lastError()) return; // after an API error it cannot go on
  ctx.values.set(SENT_BACK, before + 1);
  const shown = added.slice(0, 20).map(({ file, text }) => `${file}: ${text.trim()}`).join("\n");
  const reason = `You left ${added.length} to do. Do it, or say why it must wait and remove the mark:\n${shown}`;
  return { action: "deny", reason };
};
export default noTodoLeft;
export const config = { timeout: 60, nondeterministic: true };

/** What an agent does not do after being sent back so often is a person's to do. */
const [MOST, SENT_BACK] = [5, "no-todo-left:sent-back"] as const;
const SAFE = ["-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false"]; // a clone may hold a repository

function lines(diff: string): { file: string; text: string }[] {
  let file = "";
  return diff.split("\n").flatMap((line) => {
    if (line.startsWith("+++ ")) file = line.slice(4).replace(/^b\//, "");
    return line.startsWith("+") && !line.startsWith("+++ ") ? [{ file, text: line.slice(1) }] : [];
  });
}

async function untracked(names: string, files: HookFiles): Promise<{ file: string; text: string }[]> {
  const found: { file: string; text: string }[] = [];
  for (const file of names.split("\0").filter((name) => name !== "")) {
    // Git also names what is not a file: a nested repository, a broken link.
    const text = await files.read(file) ?? "";
    if (!text.includes("\0")) found.push(...text.split("\n").map((line) => ({ file, text: line })));
  }
  return found;
}
