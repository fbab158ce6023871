import assert from "node:assert/strict";
import { cpSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { scriptedServer } from "../../lib/testing/index.ts";
import { ended } from "../_crochet.ts";
import { scratch } from "../_scratch.ts";
import { LIB, ROOT } from "./_files.ts";

const MAIN = join(LIB, "cli/main.ts");
/** What is never among them: it is loaded by the first call that a rule or hook decides, or by a tape of another program. */
const LATER = ["permissions/ruling.ts", "replay/requests/request-lines.ts", "cli/kit/replay-tests.ts"];

/** Every file takes time to open: a change that loads more of them must say why. */
const STARTS: readonly (readonly [what: string, most: number, args: readonly string[], out: RegExp])[] = [
  // (138 before every run was logged, 146 before extensions, 150 before rules were read at the first call.)
  ["'crochet run'", 149, [MAIN, "run", "hi"], /^hi\n$/],
  ["'crochet replay' of one fixture", 162, [MAIN, "replay", "hello", "--trust"], /held: 1 fixture\n$/],
  ["a script that runs its agent", 98, ["agent.ts"], /^hi\n$/],
];

const AGENT = `import { agent } from ${JSON.stringify(join(LIB, "index.ts"))};
const { text } = await agent({ hooks: { stop: [() => undefined] } }).run("hi");
console.log(text);
`;

for (const [what, most, args, said] of STARTS) {
  test(`${what} never loads more than ${most} files of ours, and no node:crypto or node:child_process`, async () => {
    using folder = scratch({
      "agent.ts": AGENT,
      "list.ts":
        `process.on("exit", () => require("node:fs").writeFileSync("loaded", Object.keys(require.cache).join("\\n")));`,
    });
    cpSync(join(ROOT, "fixtures/hello"), join(folder.path, "fixtures/hello"), { recursive: true });
    const server = await scriptedServer([{ text: "hi" }]);
    try {
      const { code, out, err } = await ended([process.execPath, "-r", join(folder.path, "list.ts"), ...args], {
        cwd: folder.path,
        env: { HOME: folder.path, ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: server.url },
      });
      assert.match(out, said);
      assert.equal(code, 0, err);
    } finally {
      await server.close();
    }
    const loaded = readFileSync(join(folder.path, "loaded"), "utf8").split("\n").filter((path) => path.startsWith(LIB))
      .map((path) => relative(LIB, path));
    assert.ok(loaded.includes("core/loop.ts"), "the list sees the loop");
    assert.ok(loaded.length <= most, `${loaded.length} files: ${loaded.sort().join(" ")}`);
    assert.deepEqual(loaded.filter((file) => LATER.includes(file)), []);
    // Each takes longer to load than twenty files.
    const heavy = loaded.filter((file) =>
      /^import (?!type)[^;]*from "node:(?:crypto|child_process|stream|http)";/m.test(
        readFileSync(join(LIB, file), "utf8"),
      )
    );
    assert.deepEqual(heavy, []);
  });
}
