import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  appendStateFile,
  logsDir,
  readStateFile,
  stateFile,
  stateFiles,
  stateFolder,
  statePath,
  writeStateFile,
} from "../../lib/files/state.ts";
import { userSecret } from "../../lib/files/user-key.ts";
import { scratch } from "../_scratch.ts";

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

test("state is in CROCHET_HOME relative to the project, or in the project's own folder if that is not set", () => {
  assert.equal(statePath("/p", {}), "/p/.crochet");
  assert.equal(statePath("/p", { CROCHET_HOME: "" }, "runs"), "/p/.crochet/runs");
  assert.equal(statePath("/p", { CROCHET_HOME: "state" }), "/p/state");
  assert.equal(statePath("/p", { CROCHET_HOME: "/var/state" }), "/var/state");
  assert.equal(logsDir("/p", { CROCHET_LOG: "logs" }), "/p/logs");
});

test("folders of state are made for their user alone, ignored by git, and files too", () => {
  using folder = scratch();
  const made = stateFolder(folder.path, {}, "runs");
  assert.deepEqual([mode(made), mode(join(folder.path, ".crochet"))], ["700", "700"]);
  assert.equal(readFileSync(join(made, ".gitignore"), "utf8"), "*\n");
  writeStateFile(join(made, "deep", "a"), "1");
  appendStateFile(join(made, "deep", "b"), "2");
  assert.deepEqual(["deep", "deep/a", "deep/b"].map((path) => mode(join(made, path))), ["700", "600", "600"]);
});

/** [what is a link, what it leads to, whether that is refused] */
const LINKS: readonly (readonly [link: string, env: Readonly<Record<string, string>>, refused: string | undefined])[] =
  [
    [".crochet", {}, ".crochet"],
    [".crochet/runs", {}, ".crochet/runs"],
    ["named", { CROCHET_HOME: "named" }, undefined],
    ["named/runs", { CROCHET_HOME: "named" }, "named/runs"],
  ];

for (const [link, env, refused] of LINKS) {
  test(`${link} as a link, with ${JSON.stringify(env)}, is ${refused === undefined ? "the person's word" : "refused"}`, () => {
    using folder = scratch({ "else/where": "" });
    mkdirSync(join(folder.path, link, ".."), { recursive: true });
    symlinkSync(join(folder.path, "else"), join(folder.path, link));
    for (const use of [stateFolder, statePath]) {
      const used = () => use(folder.path, env, "runs");
      if (refused === undefined) used();
      else {
        const words = `Cannot use ${join(folder.path, refused)} as it is a link: remove it`;
        assert.throws(used, (error: Error) => error instanceof TypeError && error.message === words);
      }
    }
    if (refused !== undefined) assert.deepEqual(readdirSync(join(folder.path, "else")), ["where"]);
  });
}

test("~/.crochet may be a link of the user's, also where the home is the project", () => {
  using folder = scratch({ "else/where": "" });
  symlinkSync(join(folder.path, "else"), join(folder.path, ".crochet"));
  stateFolder(folder.path, { HOME: folder.path }, "runs");
  assert.ok(existsSync(join(folder.path, "else/runs")));
});

test("a folder of ~/.crochet that is a link is refused", () => {
  using folder = scratch({ "else/where": "", ".crochet/.keep": "" });
  symlinkSync(join(folder.path, "else"), join(folder.path, ".crochet/trust"));
  assert.throws(() => stateFile("trust", "/p", { HOME: folder.path }), /trust as it is a link: remove it$/);
});

test("a .gitignore that is a link is left alone", () => {
  using folder = scratch({ ".crochet/runs/.keep": "" });
  symlinkSync(join(folder.path, "target"), join(folder.path, ".crochet/runs/.gitignore"));
  stateFolder(folder.path, {}, "runs");
  assert.ok(!existsSync(join(folder.path, "target")));
});

const UNFIT: readonly (readonly [what: string, make: (path: string) => void, why: RegExp])[] = [
  ["a link", (path) => symlinkSync("/dev/zero", path), /it is a link: remove it$/],
  ["a pipe", (path) => void spawnSync("mkfifo", [path]), /it is no regular file: move it away$/],
  ["a folder", (path) => mkdirSync(path), /no regular file|EISDIR/],
  ["4 GiB", (path) => {
    writeFileSync(path, "");
    truncateSync(path, 2 ** 32);
  }, /it is larger than 1 GiB: move it away$/],
];

for (const [what, make, why] of UNFIT) {
  test(`${what} is neither read nor appended to`, () => {
    using folder = scratch();
    const path = join(folder.path, "log.jsonl");
    make(path);
    assert.throws(() => readStateFile(path), why);
    assert.throws(() => appendStateFile(path, "x"), why);
    assert.deepEqual(stateFiles(folder.path, ".jsonl").length, what === "4 GiB" ? 1 : 0);
  });
}

test("the key is made once, for its user alone, and one of the wrong size is none", () => {
  using folder = scratch();
  const env = { HOME: folder.path };
  const key = userSecret(env) as Uint8Array;
  const path = join(folder.path, ".crochet/key");
  assert.deepEqual([key.length, mode(path), userSecret(env)], [32, "600", readFileSync(path)]);
  writeFileSync(path, "short");
  assert.equal(userSecret(env), `${path} has not 32 bytes: remove it`);
  assert.match(String(userSecret({ HOME: "/dev/null/home" })), /^Cannot write \/dev\/null\/home|ENOTDIR/);
});
