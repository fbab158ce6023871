import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ended } from "../_crochet.ts";
import { place } from "../_place.ts";
import { LIB, OUR_RUNTIME } from "../_runtime.ts";

const PROGRAM = `
import { agent } from "${LIB}/index.ts";
import { scripted } from "${LIB}/testing/index.ts";
const helper = agent({ model: scripted([], { then: { text: "hi" } }) });
for (const prompt of ["one", "two"]) console.log((await helper.run(prompt)).stop);
for await (const event of helper.stream("three")) if (event.type === "end") console.log(event.stop);
`;

test("agent.run() and stream() are logged in any program, which is said once; not in tests, nor in production", async () => {
  const rows: readonly (readonly [file: string, env: Record<string, string>, logs: number, says: RegExp])[] = [
    ["server.ts", {}, 3, /^crochet: runs are logged in .*\.crochet\/runs \(CROCHET_LOG=off writes no log\)\n$/],
    ["server.ts", { CROCHET_LOG: "off" }, 0, /^$/],
    ["server.ts", { NODE_ENV: "production" }, 0, /^$/],
    ["server.ts", { NODE_ENV: "production", CROCHET_LOG: ".crochet/runs" }, 3, /^$/],
    ["server.ts", { NODE_ENV: "test" }, 0, /^$/],
    ["server.ts", { VITEST: "true" }, 0, /^$/],
    ["server.ts", { NODE_TEST_CONTEXT: "child-v8" }, 0, /^$/],
    ["server.test.ts", {}, 0, /^$/],
    ["server_test.ts", {}, 0, /^$/],
  ];
  for (const [file, env, logs, says] of rows) {
    using here = place({ [file]: PROGRAM });
    const { out, err } = await ended([...OUR_RUNTIME, file] as [string, ...string[]], {
      cwd: here.cwd,
      env: { HOME: here.home, NODE_ENV: "", ...env },
    });
    const what = `${file} ${JSON.stringify(env)}`;
    assert.equal(out, "done\ndone\ndone\n", `${what} ${err}`);
    assert.match(err, says, what);
    const runs = join(here.cwd, ".crochet/runs");
    const found = existsSync(runs) ? readdirSync(runs).filter((name) => name.endsWith(".jsonl")) : [];
    assert.equal(found.length, logs, what);
  }
});

test("a log that nobody asked for fails no run: one warning says why", async () => {
  const full = `import { LineLog } from "${LIB}/log/line-log.ts";
let lines = 0;
const append = LineLog.prototype.append;
LineLog.prototype.append = function (...given) { if (++lines > 3) throw new Error("ENOSPC"); append.apply(this, given); };`;
  const rows: readonly (readonly [files: Record<string, string>, says: RegExp])[] = [
    [{ "server.ts": PROGRAM, ".crochet": "a file" }, /^crochet: This run is not logged\. .*\n$/],
    [
      { "server.ts": full + PROGRAM },
      /^crochet: runs are logged .*\ncrochet: The log ends here, and the run goes on: ENOSPC\n$/,
    ],
  ];
  for (const [files, says] of rows) {
    using here = place(files);
    const env = { HOME: here.home, NODE_ENV: "" };
    const { out, err } = await ended([...OUR_RUNTIME, "server.ts"] as [string, ...string[]], { cwd: here.cwd, env });
    assert.equal(out, "done\ndone\ndone\n", err);
    assert.match(err, says);
  }
});
