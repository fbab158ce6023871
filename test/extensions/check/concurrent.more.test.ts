import assert from "node:assert/strict";
import { test } from "node:test";
import { races, SLOW } from "./_check-files.ts";

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
