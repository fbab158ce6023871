import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { agent } from "../../lib/agent/agent.ts";
import { compilePath } from "../../lib/permissions/_path-rule.ts";
import { scripted } from "../../lib/testing/index.ts";
import { Glob, Grep } from "../../lib/tools/index.ts";
import { rounds } from "../_counts.ts";
import { scratch } from "../_scratch.ts";
import { CWD, ofTool } from "./_call.ts";

const edit = (rule: string, path: string, more = {}) =>
  ofTool("Edit", { file_path: path }, { allow: [rule], roots: [CWD], ...more }).behavior === "allow";

test("file rules are lines of .gitignore, relative to the workspace", () => {
  const table: [rule: string, yes: string[], no: string[]][] = [
    ["Edit(src/**)", ["src/a.ts", "src/b/c.ts"], ["src", "a/src/b.ts", "srcs/a"]],
    ["Edit(/src/a.ts)", ["src/a.ts"], ["x/src/a.ts", "src/a.tsx"]],
    ["Edit(./src/a.ts)", ["src/a.ts"], ["x/src/a.ts"]],
    ["Edit(*.ts)", ["a.ts", "src/b/c.ts", ".x.ts"], ["a.js"]],
    ["Edit(src/*.ts)", ["src/a.ts"], ["src/b/c.ts"]],
    ["Edit(build/)", ["build/a", "x/build/b"], ["build"]],
    ["Edit(docs)", ["docs", "docs/a.md", "x/docs/b"], ["docs2"]],
    ["Edit(**/test/*.ts)", ["test/a.ts", "a/b/test/c.ts"], ["test/a/b.ts"]],
    ["Edit(a\\*b)", ["a*b"], ["axb"]],
    ["Edit(**)", ["a", "b/c", "/etc/passwd"], []],
  ];
  for (const [rule, yes, no] of table) {
    for (const path of yes) {
      assert.ok(edit(rule, join(path.startsWith("/") ? "/" : CWD, path)), `${rule} is for ${path}`);
    }
    for (const path of no) assert.ok(!edit(rule, join(CWD, path)), `${rule} is not for ${path}`);
  }
  assert.ok(!edit("Edit(src/**)", "/elsewhere/src/a.ts"));
});

test("file rules reach other places only by // and ~/", () => {
  assert.ok(edit("Edit(//etc/hosts)", "/etc/hosts"));
  assert.ok(edit("Edit(//etc/**)", "/etc/a/b"));
  assert.ok(!edit("Edit(/etc/hosts)", "/etc/hosts"));
  assert.ok(edit("Edit(/etc/hosts)", `${CWD}/etc/hosts`));
  assert.ok(edit("Edit(~/notes/**)", join(realpathSync(homedir()), "notes/a.md")));
  assert.ok(!edit("Edit(~/notes/**)", `${CWD}/notes/a.md`));
  assert.ok(!edit("Edit(src/**)", `${CWD}/src/../../x`));
});

test("Edit rules are for Write and MultiEdit too, Read rules for Glob and Grep", () => {
  for (const name of ["Edit", "Write", "MultiEdit"]) {
    assert.equal(ofTool(name, { file_path: `${CWD}/src/a` }, { deny: ["Edit(src/**)"] }).behavior, "deny");
    assert.equal(ofTool(name, { file_path: `${CWD}/src/a` }, { allow: ["Edit"] }).behavior, "allow");
  }
  assert.equal(ofTool("Edit", { file_path: `${CWD}/src/a` }, { deny: ["Write(src/**)"] }).behavior, "ask");
  const deny = ["Read(secret/**)"];
  const read = (tool: string, input: Record<string, unknown>) =>
    ofTool(tool, input, { deny }, { effect: "read" }).behavior;
  assert.equal(read("Read", { file_path: `${CWD}/secret/key` }), "deny");
  assert.equal(read("Grep", { pattern: "x", path: "secret" }), "deny");
  assert.equal(read("Grep", { pattern: "x", path: `${CWD}/secret/deep` }), "deny");
  assert.equal(read("Glob", { pattern: "secret/**/*.pem" }), "deny");
  assert.equal(read("Glob", { pattern: "../project/secret/*" }), "deny");
  assert.equal(read("Glob", { pattern: `${CWD}/secret/*` }), "deny");
  assert.equal(read("Glob", { pattern: "src/*" }), "allow");
  assert.equal(read("Read", { file_path: `${CWD}/public` }), "allow");
  assert.equal(ofTool("Write", { file_path: `${CWD}/secret/key` }, { deny }).behavior, "ask");
});

test("deny Read(.env) holds for Edit too: on a miss it would quote the file", () => {
  for (const name of ["Edit", "MultiEdit"]) {
    const says = (permissions: object) => ofTool(name, { file_path: `${CWD}/.env` }, permissions).behavior;
    assert.equal(says({ deny: ["Read(.env)"], mode: "bypass" }), "deny");
    assert.equal(says({ deny: ["Read"], allow: ["Edit"] }), "deny");
    assert.equal(says({ ask: ["Read(.env)"], mode: "bypass" }), "ask");
    assert.equal(says({ deny: ["Read(other)"], mode: "bypass" }), "allow");
  }
});

test("links never lead around a file rule", () => {
  using folder = scratch();
  const root = join(folder.path, "project");
  for (const dir of ["project/src", "project/secret", "outside"]) {
    mkdirSync(join(folder.path, dir), { recursive: true });
  }
  writeFileSync(join(root, "secret/key"), "");
  symlinkSync(join(root, "secret/key"), join(root, "src/key"));
  symlinkSync(join(folder.path, "outside"), join(root, "src/out"));
  symlinkSync(join(folder.path, "outside/new"), join(root, "src/dangling"));
  symlinkSync("loop", join(root, "src/loop"));
  const says = (tool: string, path: string, permissions: object) =>
    ofTool(tool, { file_path: join(root, path) }, { roots: [root], ...permissions }, { cwd: root }).behavior;
  assert.equal(says("Edit", "src/key", { mode: "bypass", deny: ["Edit(secret/**)"] }), "deny");
  assert.equal(says("Edit", "src/key", { mode: "bypass", deny: ["Edit(src/key)"] }), "deny", "as written counts too");
  for (const path of ["src/out/a", "src/dangling", "src/key", "src/out/../../project/secret/x"]) {
    assert.equal(says("Write", path, { allow: ["Edit(src/**)"] }), "ask", path);
  }
  assert.equal(says("Write", "src/out/a", { mode: "acceptEdits" }), "ask");
  assert.equal(says("Write", "src/dangling", { mode: "acceptEdits" }), "ask");
  assert.equal(says("Write", "src/real", { mode: "acceptEdits" }), "allow");
  assert.equal(says("Write", "src/loop", { mode: "acceptEdits" }), "allow", "a loop leads nowhere, and looking ends");
  symlinkSync(root, join(folder.path, "alias"));
  const throughAlias = ofTool("Write", { file_path: join(folder.path, "alias/src/x") }, {
    roots: [join(folder.path, "alias")],
    mode: "acceptEdits",
  });
  assert.equal(throughAlias.behavior, "allow", "a workspace may itself be a link");
});

const git = (() => {
  try {
    return execFileSync("git", ["--version"], { stdio: "pipe" }).length > 0;
  } catch {
    return false;
  }
})();

test("file rules always match as git's own ignore rules do", {
  skip: git ? false : "git is not installed",
}, () => {
  using folder = scratch();
  execFileSync("git", ["init", "-q", folder.path], { stdio: "pipe" });
  const name = fc.constantFrom("a", "b", "ab", "a.ts", ".a", "src");
  const piece = fc.constantFrom("a", "b", "*", "**", "?", "*.ts", "[ab]", "src", "a*", "\\*");
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
  const pattern = fc.tuple(
    fc.constantFrom("", "/"),
    fc.array(piece, { minLength: 1, maxLength: 4 }),
    fc.constantFrom("", "/"),
  )
    .map(([head, parts, tail]) => head + parts.join("/") + tail);
  fc.assert(
    fc.property(pattern, fc.array(path, { minLength: 1, maxLength: 12 }), (line, paths) => {
      writeFileSync(join(folder.path, ".git/info/exclude"), `${line}\n`);
      const ignored = check(folder.path, paths);
      const rule = compilePath(line);
      for (const p of paths) assert.equal(rule(join(folder.path, p), folder.path), ignored.has(p), `${line} on ${p}`);
    }),
    { numRuns: rounds(60, 1500) },
  );
});

/** Which of the paths git would ignore, as files. */
function check(root: string, paths: readonly string[]): Set<string> {
  try {
    const out = execFileSync("git", ["-C", root, "check-ignore", "--no-index", "-z", "--stdin"], {
      input: paths.join("\0"),
      encoding: "utf8",
      stdio: ["pipe", "pipe", "pipe"],
    });
    return new Set(out.split("\0"));
  } catch (error) {
    // One is git's way to say "none of them".
    assert.equal((error as { status: number }).status, 1);
    return new Set();
  }
}

test("a search never shows files that rules deny or ask about, unless the search itself was asked about", async () => {
  using folder = scratch();
  const files = ["public", "secret/key", "deep/down/.env", "asked/one"];
  for (const file of files) {
    mkdirSync(join(folder.path, dirname(file)), { recursive: true });
    writeFileSync(join(folder.path, file), "needle\n");
  }
  const calls: [tool: string, input: Record<string, string>, shown: string[]][] = [
    ["Grep", { pattern: "needle" }, ["public"]],
    ["Grep", { pattern: "needle", output_mode: "content" }, ["public"]],
    ["Grep", { pattern: "needle", output_mode: "count" }, ["public"]],
    ["Grep", { pattern: "needle", path: "deep" }, []],
    ["Grep", { pattern: "needle", path: "asked" }, ["asked/one"]],
    ["Grep", { pattern: "needle", path: "asked/one" }, ["asked/one"]],
    ["Glob", { pattern: "**" }, ["public"]],
    ["Glob", { pattern: "*", path: "asked" }, ["asked/one"]],
  ];
  const model = scripted([{ tools: calls.map(([name, input]) => ({ name, input })) }, { text: "." }]);
  const permissions = { deny: ["Read(secret/**)", "Read(.env)"], ask: ["Read(asked/**)"] };
  const { messages } = await agent({ model, tools: [Grep, Glob], permissions, cwd: folder.path }).run("go", {
    permissionAsker: () => Promise.resolve({ behavior: "allow" as const }),
  });
  const results = messages[2]!.content.map((block) => String("content" in block ? block.content : ""));
  for (const [i, [tool, input, shown]] of calls.entries()) {
    const words = `${tool} ${JSON.stringify(input)}: ${results[i]}`;
    for (const file of files) {
      assert.equal(results[i]!.includes(file), shown.includes(file), `${file} by ${words}`);
    }
    if (shown[0] === "public") {
      assert.match(results[i]!, /\[3 files are not shown as permission rules are about them\]/);
    }
  }
});
