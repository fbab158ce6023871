import type { Buffer } from "node:buffer";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Tool, ToolContext, ToolOutput } from "../../lib/core/tool.ts";
import { standaloneContext } from "../../lib/tools/standalone.ts";

/** Writes files with their folders. A path that is in the way of another is passed over. */
export function plant(root: string, files: Readonly<Record<string, string | Buffer>>): void {
  for (const [path, content] of Object.entries(files)) {
    try {
      mkdirSync(join(root, dirname(path)), { recursive: true });
      writeFileSync(join(root, path), content);
    } catch (error) {
      if (!["EEXIST", "ENOTDIR", "EISDIR"].includes((error as NodeJS.ErrnoException).code!)) throw error;
    }
  }
}

/** Calls a tool as the loop does: parsed, prepared, run. */
export async function call<I>(
  tool: Tool<I>,
  input: unknown,
  context: Partial<ToolContext> & { cwd: string },
): Promise<ToolOutput> {
  const whole = { ...standaloneContext(tool.name, input, { cwd: context.cwd }), ...context };
  const parsed = await tool.parse(input);
  return await tool.run(tool.prepare?.(parsed, whole) ?? parsed, whole) as ToolOutput;
}
