import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { isBinary } from "../../lib/files/text-bytes.ts";
import { ToolError } from "../../lib/core/tool.ts";
import { applyEdit, edit, type EditInput, multiEdit, undo, write } from "../../lib/tools/index.ts";
import { tries } from "../_counts.ts";
import { bytes, call, editedInTurn, string, utf8 } from "./_edit-arbitraries.ts";
import { inWorkspace, picture } from "./_workspace.ts";

const runs = { numRuns: tries(12, 500, 40) };
/** "ok", or the code of the refusal. */
async function codeOf(input: unknown, root: string): Promise<string> {
  try {
    await edit(input as EditInput, { cwd: root });
    return "ok";
  } catch (error) {
    if (error instanceof ToolError) return error.code;
    throw error;
  }
}

test("P16: Edit never touches anything when it fails", () =>
  inWorkspace(async (root) => {
    const path = join(root, "a.txt");
    const wrong = fc.constantFrom<unknown>(undefined, null, 1, "maybe", {}, [], "\ud800", "");
    let failed = 0;
    await fc.assert(
      fc.asyncProperty(
        bytes,
        call,
        fc.constantFrom("", "file_path", "old_string", "new_string", "replace_all"),
        wrong,
        async (file, call, key, value) => {
          writeFileSync(path, file);
          utimesSync(path, 1e9, 1e9);
          const before = picture(root);
          const code = await codeOf({ file_path: path, ...call, ...(key && { [key]: value }) }, root);
          if (code === "ok") return;
          failed++;
          assert.deepEqual(picture(root), before);
        },
      ),
      runs,
    );
    assert.ok(failed > 0);
  }));

test(
  "P17: Edit always leaves on disk what applyEdit() plans, the mode as it was, and no other file",
  () =>
    inWorkspace(async (root) => {
      const path = join(root, "a.txt");
      let applied = 0;
      await fc.assert(
        fc.asyncProperty(
          editedInTurn,
          fc.constantFrom(0o644, 0o600, 0o755, 0o4751),
          async ({ file, calls: [call] }, mode) => {
            writeFileSync(path, file);
            chmodSync(path, mode);
            const planned = isBinary(file) ? { ok: false, code: "binary" } as const : applyEdit(file, call!);
            if (planned.ok) applied++;
            assert.equal(await codeOf({ file_path: "a.txt", ...call }, root), planned.ok ? "ok" : planned.code);
            assert.deepEqual(readFileSync(path), Buffer.from(planned.ok ? planned.bytes : file));
            assert.equal(statSync(path).mode & 0o7777, mode);
            assert.deepEqual(readdirSync(root), ["a.txt"]);
          },
        ),
        runs,
      );
      assert.ok(applied > 0);
    }),
);

function permutations<T>(all: readonly T[]): T[][] {
  return all.length === 0
    ? [[]]
    : all.flatMap((one, i) => permutations(all.toSpliced(i, 1)).map((rest) => [one, ...rest]));
}

test(
  "P18: edits at the same time always come to the same as one after another, in some order",
  () =>
    inWorkspace(async (root) => {
      const path = join(root, "a.txt");
      mkdirSync(join(root, "d"));
      symlinkSync("a.txt", join(root, "alias"));
      symlinkSync("../alias", join(root, "d", "alias"));
      const letters = fc.stringMatching(/^[ab]{1,2}$/);
      const one = fc.record({
        file_path: fc.constantFrom("a.txt", "alias", "d/alias", "d/../a.txt"),
        old_string: letters,
        new_string: letters,
        replace_all: fc.boolean(),
      }).filter(({ old_string, new_string }) => old_string !== new_string);
      await fc.assert(
        fc.asyncProperty(
          fc.stringMatching(/^[ab]{0,6}$/),
          fc.array(one, { minLength: 2, maxLength: 4 }),
          async (file, calls) => {
            writeFileSync(path, file);
            const codes = await Promise.all(calls.map((call) => codeOf(call, root)));
            const seen = JSON.stringify([codes, readFileSync(path, "utf8")]);
            const possible = permutations([...calls.keys()]).map((order) => {
              let now: Uint8Array = utf8(file);
              const codes: string[] = [];
              for (const i of order) {
                const result = applyEdit(now, calls[i]!);
                codes[i] = result.ok ? "ok" : result.code;
                if (result.ok) now = result.bytes;
              }
              return JSON.stringify([codes, string(now)]);
            });
            assert.ok(possible.includes(seen), seen);
          },
        ),
        runs,
      );
    }),
);

test("P19: no path ever escapes the workspace", () =>
  inWorkspace(async (root) => {
    const outside = dirname(root);
    mkdirSync(join(outside, "root-evil"));
    mkdirSync(join(root, "d"));
    const secrets = [join(outside, "secret"), join(outside, "root-evil", "secret")];
    for (const secret of secrets) writeFileSync(secret, "old");
    symlinkSync("..", join(root, "out"));
    symlinkSync("../secret", join(root, "secret-link"));
    symlinkSync(join(outside, "not-there"), join(root, "dangling"));
    symlinkSync(".", join(root, "in"));
    symlinkSync("loop", join(root, "loop"));
    const part = fc.constantFrom(
      "..",
      ".",
      "",
      "d",
      "out",
      "in",
      "loop",
      "dangling",
      "secret",
      "secret-link",
      "root",
      "root-evil",
      "%2e%2e",
      "~",
      "new",
    );
    const start = fc.constantFrom("", "/", `${root}/`, `${outside}/`, `${root}-evil/`, "//", "/proc/self/cwd/");
    await fc.assert(
      fc.asyncProperty(start, fc.array(part, { maxLength: 5 }), async (start, parts) => {
        const file_path = start + parts.join("/");
        const code = await codeOf({ file_path, old_string: "old", new_string: "new" }, root);
        const made = await write({ file_path, content: "new" }, { cwd: root }).then(() => "ok", (error) => error.code);
        assert.deepEqual(secrets.map((secret) => readFileSync(secret, "utf8")), ["old", "old"], file_path);
        assert.deepEqual(readdirSync(outside).sort(), ["root", "root-evil", "secret"], file_path);
        assert.deepEqual(readdirSync(join(outside, "root-evil")), ["secret"], file_path);
        assert.ok(code !== "ok" || made === "ok", `${file_path}: ${code}, ${made}`);
      }),
      { numRuns: tries(93, 5000, 300) },
    );
  }));

test("P25: undo() always brings back the bytes an edit replaced", () =>
  inWorkspace(async (root) => {
    const path = join(root, "a.txt");
    let undone = 0;
    await fc.assert(
      fc.asyncProperty(
        editedInTurn,
        fc.array(fc.string({ maxLength: 5 }), { maxLength: 2 }),
        async ({ file, calls }, contents) => {
          writeFileSync(path, file);
          const state = new Map<string, unknown>();
          const states = [Buffer.from(file)];
          for (const change of [...calls, ...contents]) {
            const done = typeof change === "string"
              ? await write({ file_path: path, content: change }, { cwd: root, state }).then(() => true, () => false)
              : await multiEdit({ file_path: path, edits: [change] }, { cwd: root, state }).then(
                () => true,
                () => false,
              );
            if (done) states.push(readFileSync(path));
          }
          while (states.length > 1) {
            if (states.length > contents.length + 1) undone++;
            states.pop();
            await undo(state);
            assert.deepEqual(readFileSync(path), states.at(-1));
          }
          await assert.rejects(undo(state), { code: "nothing_to_undo" });
        },
      ),
      runs,
    );
    assert.ok(undone > 0);
  }));
