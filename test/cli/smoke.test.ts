import assert from "node:assert/strict";
import { test } from "node:test";
import { place } from "../_place.ts";
import { SMOKE } from "./_smoke.ts";
import { LIB } from "../_runtime.ts";

const AGENT = `import { agent } from "${LIB}/index.ts";
import { scripted } from "${LIB}/models/scripted.ts";
export default agent({ from: import.meta.url, model: scripted([], { then: { text: "hello" } }) });
`;

test("every command works in a process of its own: its words, its exit code, and one line for a mistake", async () => {
  using here = place({
    "agent.ts": AGENT,
    "hooks/pre-tool-use@Bash.no.ts": `export default () => ({ action: "deny", reason: "Not here" });\n`,
    "a.txt": "words\n",
  });
  for (const [name, { words, stdin = "", code = 0, says }] of Object.entries(SMOKE)) {
    const { out, err, ...exit } = await here.crochet([name, ...words], {}, stdin);
    assert.equal(exit.code, code, `${name}: ${out}${err}`);
    assert.match(code === 0 ? out : err, says);
    if (code !== 0) assert.match(err, /^crochet: Cannot /);
  }
});
