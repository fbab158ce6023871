import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { scriptedServer } from "../../../lib/testing/server.ts";
import { CROCHET } from "../../_crochet.ts";
import { place } from "../../_place.ts";
import { NO_PTY, Pty } from "../../_pty.ts";
import { RUNTIME } from "../../_runtime.ts";

const PROGRAM = `
const headers = { "x-api-key": "none", "anthropic-version": "2023-06-01" };
const body = JSON.stringify({ model: "m", max_tokens: 9, messages: [{ role: "user", content: "hi" }] });
await (await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", headers, body })).json();
console.log((process.stdout.isTTY === true ? "drawn " : "piped ") + Math.random());
console.log("go?");
if (process.argv[2] === "reads") process.stdin.once("data", () => process.exit(0));
else process.exit(0);
`;

const says = [["asks nobody", /, replays\b/, "{VARIES}\ngo?\n"], ["reads", /, not proven\b/, undefined]] as const;

for (const [how, end, kept] of says) {
  test(
    `RECORD 3: what a program prints on a terminal is seen in two more runs, and none is made if it was told something: it ${how}`,
    {
      skip: NO_PTY ?? false,
      timeout: 120_000,
    },
    async () => {
      using here = place({ "program.mjs": PROGRAM });
      await using api = await scriptedServer([{ text: "yes" }]);
      await using terminal = new Pty([...CROCHET, "record", "--fixture", "it", "--", ...RUNTIME, "program.mjs", how], {
        cwd: here.cwd,
        env: { HOME: here.home, ANTHROPIC_BASE_URL: api.url },
      });
      await terminal.until(/go\?/);
      if (how === "reads") terminal.send("y\r");
      await terminal.end();
      assert.match(terminal.raw, /drawn 0\./);
      assert.match(terminal.raw, end);
      assert.equal(terminal.code, 0, terminal.raw);
      const last = JSON.parse(
        readFileSync(join(here.cwd, "fixtures/it/tape.jsonl"), "utf8").trim().split("\n").at(-1)!,
      );
      assert.equal(last.out, kept);
    },
  );
}
