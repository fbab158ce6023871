import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { checkHook } from "../../../lib/testing/index.ts";
import { rounds } from "../../_counts.ts";
import { testData } from "../../_data.ts";
import { hookFiles, SLOW } from "./_check-files.ts";

/** The codes that the law finds of one hook. */
async function codes(name: string, text: string, seed: number): Promise<string[]> {
  using folder = hookFiles({ [name]: text });
  // Version managers put shells before each program, which makes it no better a test.
  const env = { ...process.env, PATH: "/usr/local/bin:/usr/bin:/bin" };
  const options = { env, runs: 0, seed, laws: ["concurrent"] as const, timeout: 20, time: 600, cwd: folder.path };
  const { hooks: [hook] } = await checkHook(folder.path, options);
  assert.equal(hook!.unchecked, undefined);
  return hook!.findings.map(({ code }) => code);
}

const RACE = testData("guards/race");

for (const name of readdirSync(RACE)) {
  const racy = name.includes(".racy.");
  test(
    `${name} is ${racy ? "always" : "never"} reported, whatever the seed`,
    { ...SLOW, timeout: 600_000 },
    async () => {
      for (let seed = 1; seed <= rounds(2, 6); seed++) {
        const found = await codes(`pre-tool-use@Bash.${name}`, readFileSync(join(RACE, name), "utf8"), seed);
        if (racy) assert.match(found.join(), /^race\.(?:lost-update|verdict|crash)$/, `seed ${seed}`);
        else assert.deepEqual(found, [], `seed ${seed}`);
      }
    },
  );
}

/** Counters in other languages and forms, without a lock and behind one. */
const COUNTERS: Readonly<Record<string, readonly [racy: string, sound: string]>> = {
  "bash": [
    "#!/bin/bash\ncat >/dev/null; n=$(<count); echo $((n + 1)) > count",
    "#!/bin/bash\ncat >/dev/null; exec 9>lock; flock 9; n=$(<count); echo $((n + 1)) > count",
  ],
  "node": [
    `#!/usr/bin/env node\nconst fs = require("fs"); fs.readFileSync(0);
const n = fs.existsSync("n.txt") ? Number(fs.readFileSync("n.txt", "utf8")) : 0; fs.writeFileSync("n.txt", String(n + 1));`,
    `#!/usr/bin/env node\nconst fs = require("fs"); fs.readFileSync(0);
for (;;) { try { fs.mkdirSync("lock"); break; } catch { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5); } }
const n = fs.existsSync("n.txt") ? Number(fs.readFileSync("n.txt", "utf8")) : 0; fs.writeFileSync("n.txt", String(n + 1)); fs.rmdirSync("lock");`,
  ],
  "python3": [
    `#!/usr/bin/env python3
import sqlite3, sys; sys.stdin.read(); db = sqlite3.connect("n.db", timeout=10, isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS n (v)"); v = db.execute("SELECT count(*) FROM n").fetchone()[0]
db.execute("INSERT INTO n VALUES (?)", (v + 1,))`,
    `#!/usr/bin/env python3
import fcntl, sys; sys.stdin.read(); f = open("count", "a+"); fcntl.flock(f, fcntl.LOCK_EX); f.seek(0)
n = int(f.read() or 0) + 1; f.truncate(0); f.write(str(n)); f.flush()`,
  ],
};

for (const [program, [racy, sound]] of Object.entries(COUNTERS)) {
  const file = `pre-tool-use@Bash.count.${program === "python3" ? "py" : "sh"}`;
  test(
    `a counter in ${program} without a lock is reported, one with a lock never`,
    { ...SLOW, timeout: 600_000 },
    async () => {
      assert.match((await codes(file, racy, 1)).join(), /^race\./);
      assert.deepEqual(await codes(file, sound, 1), []);
    },
  );
}

/** What modules keep without a wait in between, or one after the other. */
const MODULES: Readonly<Record<string, string>> = {
  "values set at once": `export default async (event, { values, sleep }) => {
    const n = (values.get("n") ?? 0) + 1;
    values.set("n", n);
    await sleep(1);
    if (n > 3) return { action: "deny", reason: "only three calls" };
  };`,
  "files behind a promise": `let line = Promise.resolve();
  export default (event, { files }) => line = line.then(async () => {
    const n = Number(await files.read("count") ?? 0) + 1;
    await files.write("count", String(n));
  });`,
};

for (const [what, text] of Object.entries(MODULES)) {
  test(`a module that keeps ${what} is never reported`, { ...SLOW, timeout: 600_000 }, async () => {
    assert.deepEqual(await codes("pre-tool-use@Bash.count.ts", text, 1), []);
  });
}
