import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { linkSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { userSecret } from "../../lib/files/user-key.ts";
import { agent } from "../../lib/index.ts";
import { openSandbox } from "../../lib/permissions/sandbox.ts";
import { scripted } from "../../lib/testing/index.ts";
import { Edit, Glob, Grep, Read, Write } from "../../lib/tools/index.ts";
import { ended } from "../_crochet.ts";
import { withEnv } from "../_env.ts";
import { noSandbox } from "../_needs.ts";
import { scratch } from "../_scratch.ts";

const KEY = "abcdefghijklmnopqrstuvwxyz012345";

/** A project that is the home too, with a key that can be searched, under three names. */
async function atHome<T>(use: (home: string) => Promise<T>): Promise<T> {
  using folder = scratch({ ".crochet/key": KEY, "notes.txt": "abc\n" });
  linkSync(join(folder.path, ".crochet/key"), join(folder.path, "hard"));
  symlinkSync(".crochet/key", join(folder.path, "soft"));
  return await withEnv({ HOME: folder.path }, () => use(folder.path));
}

const CALLS: readonly (readonly [name: string, input: Record<string, unknown>])[] = [
  ["Read", { file_path: ".crochet/key" }],
  ["Read", { file_path: "soft" }],
  ["Read", { file_path: "hard" }],
  ["Edit", { file_path: ".crochet/key", old_string: "abc", new_string: "x" }],
  ["Write", { file_path: ".crochet/key", content: "x" }],
  ["Grep", { pattern: "abc", path: ".crochet/key", output_mode: "content" }],
  ["Grep", { pattern: "abc.*", path: ".crochet", output_mode: "content" }],
  ["Glob", { pattern: "*", path: ".crochet" }],
];

for (const [name, input] of CALLS) {
  test(`U16, DOORS 7: ${name} ${JSON.stringify(input)} does not come to the key, whatever the rules`, () =>
    atHome(async (cwd) => {
      const { messages } = await agent({
        cwd,
        model: scripted([{ tools: [{ name, input }] }, { text: "done" }]),
        tools: [Read, Edit, Write, Grep, Glob],
        permissions: { mode: "bypassPermissions", allow: ["Read", "Edit", "Grep"] },
      }).run("go");
      const said = JSON.stringify(messages[2]);
      assert.ok(said.includes("tool_result") && !said.includes("defghij") && !/"\.?crochet\/key\b/.test(said), said);
      assert.equal(readFileSync(join(cwd, ".crochet/key"), "utf8"), KEY);
    }));
}

test(
  "DOORS 7: the key is empty in the sandbox, also where the home is the workspace",
  { skip: noSandbox },
  () =>
    atHome(async (cwd) => {
      const [program, ...args] = (await openSandbox({ mode: "workspace", roots: [cwd] }))(
        ["sh", "-c", "cat .crochet/key; cat notes.txt; echo x > .crochet/key || echo refused"],
        cwd,
      );
      const { stdout } = spawnSync(program!, args, { encoding: "utf8" });
      assert.ok(!stdout.includes(KEY) && stdout.includes("abc"), stdout);
      assert.equal(readFileSync(join(cwd, ".crochet/key"), "utf8"), KEY);
    }),
);

test("two processes that make the key at once make one", async () => {
  using folder = scratch();
  const script = join(folder.path, "make.ts");
  const file = new URL("../../lib/files/user-key.ts", import.meta.url).pathname;
  writeFileSync(
    script,
    `import { userSecret } from "${file}"; console.log(Buffer.from(userSecret(process.env)).toString("hex"));`,
  );
  const made = await Promise.all(
    [1, 2, 3, 4].map(() =>
      ended([process.execPath, ...("Deno" in globalThis ? ["run", "-A"] : []), script], {
        cwd: folder.path,
        env: { HOME: folder.path },
      })
    ),
  );
  const key = Buffer.from(userSecret({ HOME: folder.path }) as Uint8Array).toString("hex");
  assert.deepEqual(made.map(({ out }) => out.trim()), [key, key, key, key]);
});
