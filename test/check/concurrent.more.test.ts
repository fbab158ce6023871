import assert from "node:assert/strict";
import { test } from "node:test";
import { checkHook } from "../../lib/testing/index.ts";
import { hookFiles, SLOW } from "./_check-files.ts";

/** What the law finds of each hook of a folder: the code and the message. */
async function races(files: { readonly [name: string]: string }, seed = 1): Promise<Record<string, string>> {
  using folder = hookFiles(files);
  const options = { runs: 0, seed, laws: ["concurrent"] as const, timeout: 20, time: 600, cwd: folder.path };
  const { hooks, problems } = await checkHook(folder.path, options);
  assert.deepEqual(problems, []);
  return Object.fromEntries(hooks.map(({ hook, findings, unchecked }) => [
    hook,
    [unchecked, ...findings.map(({ severity, code, message }) => `${severity} ${code}: ${message}`)].join(""),
  ]));
}

test(
  "a module that reads and writes files races too, and one that does not do the same twice is not checked",
  SLOW,
  async () => {
    const found = await races({
      "pre-tool-use@Bash.files.ts": `export default async (event, { files }) => {
      const n = Number(await files.read("count") ?? 0) + 1;
      await files.write("count", String(n));
    };`,
      "notification.log.ts": `import { readFile, writeFile } from "node:fs/promises";
      export default async (event, { cwd }) => {
        const before = await readFile(cwd + "/log.txt", "utf8").catch(() => "");
        await writeFile(cwd + "/log.txt", before + event.message + "\\n");
      };`,
      "notification.random.ts": `import { appendFile } from "node:fs/promises";
      export default (event, { cwd }) => appendFile(cwd + "/log.txt", Math.random().toString(36) + "\\n");`,
    });
    assert.match(
      found["pre-tool-use@Bash.files.ts"]!,
      /^fault race\.lost-update: 2 at once: pass, pass, and count is 1; one after the other it is 2$/,
    );
    assert.match(found["notification.log.ts"]!, /^warning race\.lost-update: /);
    assert.match(
      found["notification.random.ts"]!,
      /^warning race\.not-checked: Not checked for races, as it does not do the same twice/,
    );
  },
);
