import assert from "node:assert/strict";
import type { ToolError } from "../../lib/core/tool.ts";
import { Read } from "../../lib/tools/index.ts";
import { call } from "./_tree.ts";

/** What Read shows the model of a text. */
export async function text(root: string, input: Record<string, unknown>): Promise<string> {
  return (await call(Read, input, { cwd: root })).content as string;
}

export function refuses(work: Promise<unknown>, code: string, message: RegExp): Promise<void> {
  return assert.rejects(work, (error: ToolError) => {
    assert.equal(error.name, "ToolError");
    assert.match(error.message, message);
    assert.equal(error.code, code);
    return true;
  });
}
