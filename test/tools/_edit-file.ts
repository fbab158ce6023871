import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ToolContext } from "../../lib/core/tool.ts";
import { standaloneContext } from "../../lib/tools/standalone.ts";
import { Edit } from "../../lib/tools/index.ts";
import type { EditResponse } from "../../lib/tools/edit.ts";
import { call } from "./_tree.ts";
import { inWorkspace } from "./_workspace.ts";

/** A workspace with one file, `a.txt`. */
export interface OneFile {
  readonly root: string;
  readonly path: string;
  readonly read: () => string;
  readonly context: ToolContext;
}

export function withFile(content: string, work: (file: OneFile) => Promise<void>): Promise<void> {
  return inWorkspace((root) => {
    const path = join(root, "a.txt");
    writeFileSync(path, content);
    const context = standaloneContext("Edit", {}, { cwd: root });
    return work({ root, path, read: () => readFileSync(path, "utf8"), context });
  });
}

/** What Edit answers, called as the loop calls it. */
export function run(input: unknown, context: ToolContext): Promise<{ content: string; response: EditResponse }> {
  return call(Edit, input, context) as Promise<{ content: string; response: EditResponse }>;
}
