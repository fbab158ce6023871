import { Buffer } from "node:buffer";
import { open, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/** A package of this folder's own package.json, by a name the type check does not follow: it need not be installed there. */
const peer = (name: string) => import(name);

/** Replaces the one occurrence of `old` in a file by `now`, or throws. */
export type EditOnce = (path: string, old: string, now: string) => Promise<void>;

export const contestants: Record<string, () => Promise<EditOnce>> = {
  /** What the rules of Edit force on any editor: read, write a new file, sync it, read again, rename. Nothing is looked for. */
  floor: () =>
    Promise.resolve(async (path, old, now) => {
      const bytes = await readFile(path);
      const at = bytes.length >> 1;
      bytes.set(Buffer.from(now), at);
      const handle = await open(`${path}.new`, "w", 0o600);
      for (let done = 0; done < bytes.length;) {
        done += (await handle.write(bytes, done, bytes.length - done)).bytesWritten;
      }
      await handle.sync();
      await handle.close();
      const again = await open(path);
      const block = Buffer.allocUnsafe(Math.min(bytes.length, 1 << 20));
      while ((await again.read(block)).bytesRead > 0);
      await again.close();
      if (old.length !== now.length) throw new Error("Cannot edit as the floor only overwrites");
      await rename(`${path}.new`, path);
    }),

  /** What an editor without those rules can do at best: neither synced nor looked at again. */
  bare: () =>
    Promise.resolve(async (path, _old, now) => {
      const bytes = await readFile(path);
      bytes.set(Buffer.from(now), bytes.length >> 1);
      await writeFile(`${path}.new`, bytes);
      await rename(`${path}.new`, path);
    }),

  crochet: async () => {
    const { edit } = await import("../lib/tools/edit.ts");
    return async (path, old_string, new_string) => {
      await edit({ file_path: path, old_string, new_string }, { cwd: dirname(path) });
    };
  },

  /** The edit tool of the Anthropic SDK, with its size cap raised. */
  sdk: async () => {
    const { betaEditTool } = await peer("@anthropic-ai/sdk/tools/agent-toolset/node");
    return async (path, old_string, new_string) => {
      const tool = betaEditTool({ workdir: dirname(path), maxFileBytes: 1 << 30 });
      await tool.run({ file_path: path, old_string, new_string });
    };
  },

  pi: async () => {
    const { createEditTool } = await peer("@mariozechner/pi-coding-agent");
    return async (path, oldText, newText) => {
      await createEditTool(dirname(path)).execute("bench", { path, edits: [{ oldText, newText }] });
    };
  },

  deepagents: async () => {
    const { FilesystemBackend } = await peer("deepagents");
    return async (path, old, now) => {
      const result = await new FilesystemBackend({ rootDir: dirname(path), maxFileSizeMb: 1000 }).edit(path, old, now);
      if (result.error) throw new Error(result.error);
    };
  },
};
