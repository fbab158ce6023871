import assert from "node:assert/strict";
import { test } from "node:test";
import { races, SLOW } from "./_check-files.ts";

const LIMIT = `{ action: "deny", reason: "only three calls" }`;

test(
  "a module that waits between reading and writing what it keeps races",
  SLOW,
  async () => {
    const found = await races({
      "pre-tool-use@Bash.values.ts": `export default async (event, { values, sleep }) => {
      const n = (values.get("n") ?? 0) + 1;
      await sleep(1);
      values.set("n", n);
      if (n > 3) return ${LIMIT};
    };`,
      "pre-tool-use@Bash.variable.ts": `let n = 0;
      export default async (event, { $ }) => {
        const next = n + 1;
        await $("true");
        n = next;
        if (n > 3) return ${LIMIT};
      };`,
      "notification.nothing.ts": "export default () => undefined;",
    });
    assert.match(
      found["pre-tool-use@Bash.values.ts"]!,
      /^fault race\.(?:lost-update|verdict): \d at once.*ctx\.values is/,
    );
    assert.match(
      found["pre-tool-use@Bash.variable.ts"]!,
      /^fault race\.verdict: .*pass, pass; one after the other they answer .*pass, deny$/,
    );
    assert.equal(found["notification.nothing.ts"], "");
  },
);
