import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import * as disk from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { ToolError } from "../../lib/core/tool.ts";
import { commit, type Disk } from "../../lib/files/commit.ts";
import { applyEdit, edit, type EditInput, multiEdit, undo, write } from "../../lib/tools/index.ts";
import { rounds, tries } from "../_counts.ts";
import { RUNTIME } from "../_runtime.ts";
import { bytes, call, edited, string, utf8 } from "./_edit-arbitraries.ts";
import { bothRuntimes, end, script, withScript } from "./_edit-runtimes.ts";
import { inWorkspace } from "./_workspace.ts";

const runs = { numRuns: tries(40, 500) };
const long = { timeout: 240_000 };

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

/** What an error must not touch. */
function picture(directory: string) {
  return (readdirSync(directory, { recursive: true }) as string[]).sort().map((name) => {
    const { mode, ino, mtimeMs, nlink } = lstatSync(join(directory, name));
    return [
      name,
      mode,
      ino,
      mtimeMs,
      nlink,
      statSync(join(directory, name)).isFile() ? readFileSync(join(directory, name), "latin1") : "",
    ];
  });
}

test("P16: Edit never touches anything when it fails", long, () =>
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
  long,
  () =>
    inWorkspace(async (root) => {
      const path = join(root, "a.txt");
      await fc.assert(
        fc.asyncProperty(
          fc.oneof(bytes, edited.map(({ file }): Uint8Array => utf8(file))),
          call,
          fc.constantFrom(0o644, 0o600, 0o755, 0o4751),
          async (file, call, mode) => {
            writeFileSync(path, file);
            chmodSync(path, mode);
            const planned = applyEdit(file, call);
            assert.equal(await codeOf({ file_path: "a.txt", ...call }, root), planned.ok ? "ok" : planned.code);
            assert.deepEqual(readFileSync(path), Buffer.from(planned.ok ? planned.bytes : file));
            assert.equal(statSync(path).mode & 0o7777, mode);
            assert.deepEqual(readdirSync(root), ["a.txt"]);
          },
        ),
        runs,
      );
    }),
);

function permutations<T>(all: readonly T[]): T[][] {
  return all.length === 0
    ? [[]]
    : all.flatMap((one, i) => permutations(all.toSpliced(i, 1)).map((rest) => [one, ...rest]));
}

test(
  "P18: edits at the same time always come to the same as one after another, in some order",
  long,
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

test("P18: edits of several processes never lose an update", long, () =>
  inWorkspace(async (root) => {
    const path = join(root, "a.txt"), count = rounds(40, 300);
    const names = ["p", "q", "r"];
    const file = (open: string, close: string) =>
      Array.from({ length: count }, (_, k) => names.map((name) => `${open}${name}.${k}${close}\n`).join("")).join("");
    writeFileSync(path, file("<", ">"));
    symlinkSync("a.txt", join(root, "alias"));
    const [program, ...args] = RUNTIME;
    // They all find a lock that a process left when it was killed, and only one may take its place.
    await withScript("_edit-hold.ts", [path], () => Promise.resolve());
    const children = names.map((name, i) =>
      spawn(program, [...args, script("_edit-tokens.ts"), join(root, i % 2 ? "alias" : "a.txt"), name, String(count)], {
        stdio: ["ignore", "inherit", "inherit"],
        // Another temporary directory must not keep them from seeing each other's locks.
        env: { ...process.env, TMPDIR: i === 0 ? root : dirname(root) },
      })
    );
    try {
      for (const child of children) if (child.exitCode === null) await once(child, "exit");
      assert.deepEqual(children.map(({ exitCode }) => exitCode), [0, 0, 0]);
    } finally {
      await Promise.all(children.map(end));
    }
    assert.equal(readFileSync(path, "utf8"), file("[", "]"));
    assert.deepEqual(readdirSync(root).sort(), ["a.txt", "alias"]);
  }));

test("a lock left by a killed process is always taken over by one at a time", long, () =>
  inWorkspace(async (root) => {
    const path = join(root, "a.txt"), notes = join(root, "notes");
    const [program, ...args] = RUNTIME;
    for (let round = 0; round < rounds(4, 40); round++) {
      writeFileSync(notes, "");
      await withScript("_edit-hold.ts", [path], () => Promise.resolve());
      const moment = String(Date.now() + 700);
      const children = Array.from({ length: 4 }, () =>
        spawn(program, [...args, script("_edit-contend.ts"), path, notes, moment], { stdio: "inherit" }));
      try {
        for (const child of children) {
          if (child.exitCode === null) {
            await once(child, "exit");
          }
        }
      } finally {
        await Promise.all(children.map(end));
      }
      assert.equal(readFileSync(notes, "utf8"), "in\nout\n".repeat(4));
    }
  }));

test("P19: no path ever escapes the workspace", long, () =>
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
      { numRuns: tries(300, 5000) },
    );
  }));

/** A file of this many bytes takes long enough to write that a kill or a look can fall into it. */
const BIG = 2_000_000;

const withLoopingEditor = (path: string, work: () => Promise<void>) =>
  withScript("_edit-loop.ts", [path, "AAAA", "BBBBBBBB"], work);

test(
  "P20: a kill at any point always leaves the old or the new file, and no litter that stays",
  long,
  () =>
    inWorkspace(async (root) => {
      const path = join(root, "a.txt");
      const versions = ["AAAA", "BBBBBBBB"].map((word) => `${"x".repeat(BIG / 2)}${word}${"y\n".repeat(BIG / 4)}`);
      let interrupted = 0;
      for (let round = 0; round < rounds(20, 200); round++) {
        writeFileSync(path, versions[0]!);
        await withLoopingEditor(path, () => sleep(Math.random() * 30));
        const now = readFileSync(path, "utf8");
        assert.ok(versions.includes(now), `a third state, ${now.length} characters long`);
        if (readdirSync(root).length > 1) interrupted++;
        assert.ok(readdirSync(root).length <= 2, "what an earlier round left was not swept");
      }
      assert.ok(interrupted > 0, "no kill fell into a write");
      writeFileSync(path, "<t.0>");
      const [program, ...args] = RUNTIME;
      assert.equal(spawnSync(program, [...args, script("_edit-tokens.ts"), path, "t", "1"]).status, 0);
      assert.deepEqual(readdirSync(root), ["a.txt"]);
    }),
);

test("P22: a reader never sees a third state", long, () =>
  inWorkspace(async (root) => {
    const path = join(root, "a.txt");
    const versions = ["AAAA", "BBBBBBBB"].map((word) =>
      Buffer.from(`${"x".repeat(BIG / 2)}${word}${"y\n".repeat(BIG / 4)}`)
    );
    writeFileSync(path, versions[0]!);
    const seen = new Set<number>();
    await withLoopingEditor(path, async () => {
      for (let look = 0; look < rounds(300, 3000); look++) {
        const now = readFileSync(path);
        seen.add(versions.findIndex((version) => version.equals(now)));
        if (look % 20 === 0) await sleep(1);
      }
    });
    assert.deepEqual([...seen].sort(), [0, 1]);
  }));

/** The file system, but the step with this number fails, or takes only a part. */
function failingDisk(step: number, code: string): { system: Disk; failed: () => string | undefined } {
  let count = 0, failed: string | undefined;
  const wrap = <T extends object>(target: T, name: string): T =>
    new Proxy(target, {
      get(object, key) {
        const value = Reflect.get(object, key) as unknown;
        if (typeof value !== "function") return value;
        return async (...args: unknown[]) => {
          const what = `${name}${String(key)}`;
          if (++count === step) {
            failed = what;
            // A full disk takes what fits and refuses the rest; a handle that fails to close is closed.
            if (key === "write") await value.call(object, args[0], args[1], 1, args[3]);
            if (key === "close") await value.call(object);
            throw Object.assign(new Error(`${code}: ${what}`), { code });
          }
          const result = await value.apply(object, args);
          return key === "open" ? wrap(result as object, "handle.") : result;
        };
      },
    });
  return { system: wrap({ ...disk }, ""), failed: () => failed };
}

for (const names of [1, 2]) {
  test(`P23: a failure at any step always leaves the original (${names === 1 ? "one name" : "hard links, written in place"})`, () =>
    inWorkspace(async (root) => {
      const old = Buffer.from("one two three\n"), now = Buffer.from("one 2 three\n");
      const splices = [{ start: 4, end: 7, bytes: Buffer.from("2") }];
      const failures: string[] = [];
      for (const code of ["ENOSPC", "EACCES", "EIO"]) {
        for (let step = 1;; step++) {
          const directory = join(root, `${code}-${step}`), path = join(directory, "a.txt");
          mkdirSync(directory);
          writeFileSync(path, old);
          if (names === 2) linkSync(path, join(directory, "b.txt"));
          const { system, failed } = failingDisk(step, code);
          const result = await commit({ real: path, original: { bytes: old, stat: statSync(path) }, splices }, system)
            .catch((e) => e.code);
          if (failed() === undefined) {
            assert.equal(result, "done");
            assert.deepEqual(readFileSync(path), now);
            break;
          }
          failures.push(failed()!);
          const kept = result === "done" ? now : old;
          assert.deepEqual(readFileSync(path), kept, `${code} at ${failed()}: ${result}`);
          if (result !== "done") assert.equal(result, code);
          // Where removing the temporary file is what fails, it stays for the next sweep.
          if (failed() !== "unlink") {
            assert.deepEqual(readdirSync(directory).sort(), names === 2 ? ["a.txt", "b.txt"] : ["a.txt"]);
          }
        }
      }
      const needed = names === 1
        ? ["open", "handle.write", "handle.chmod", "handle.sync", "handle.read", "rename"]
        : ["open", "handle.write", "handle.truncate", "handle.sync"];
      for (const step of needed) assert.ok(failures.includes(step), `${step} did not fail in ${failures}`);
    }));
}

test("P23: a write that takes only a part is always carried on", () =>
  inWorkspace(async (root) => {
    const path = join(root, "a.txt"), old = Buffer.from("0123456789".repeat(50));
    writeFileSync(path, old);
    const system: Disk = {
      ...disk,
      open: async (...args) => {
        const handle = await disk.open(...args);
        const write = handle.write.bind(handle) as (...args: unknown[]) => unknown;
        handle.write = ((piece: Uint8Array, from: number, length: number, at: number) =>
          write(piece, from, Math.min(7, length), at)) as typeof handle.write;
        return handle;
      },
    };
    const splices = [{ start: 10, end: 20, bytes: Buffer.from("new") }, {
      start: 400,
      end: 400,
      bytes: Buffer.from("more"),
    }];
    assert.equal(await commit({ real: path, original: { bytes: old, stat: statSync(path) }, splices }, system), "done");
    const text = old.toString();
    assert.equal(readFileSync(path, "utf8"), `${text.slice(0, 10)}new${text.slice(20, 400)}more${text.slice(400)}`);
  }));

test("P25: undo() always brings back the bytes an edit replaced", long, () =>
  inWorkspace(async (root) => {
    const path = join(root, "a.txt");
    await fc.assert(
      fc.asyncProperty(
        bytes,
        fc.array(fc.oneof(call, fc.string({ maxLength: 5 })), { minLength: 1, maxLength: 4 }),
        async (file, changes) => {
          writeFileSync(path, file);
          const state = new Map<string, unknown>();
          const states = [Buffer.from(file)];
          for (const change of changes) {
            const done = typeof change === "string"
              ? await write({ file_path: path, content: change }, { cwd: root, state }).then(() => true)
              : await multiEdit({ file_path: path, edits: [change] }, { cwd: root, state }).then(
                () => true,
                () => false,
              );
            if (done) states.push(readFileSync(path));
          }
          while (states.length > 1) {
            states.pop();
            await undo(state);
            assert.deepEqual(readFileSync(path), states.at(-1));
          }
          await assert.rejects(undo(state), { code: "nothing_to_undo" });
        },
      ),
      runs,
    );
  }));

test("P21, P26: Edit always comes to the same on Bun and on Deno, in any directory and locale", {
  ...long,
  ...(bothRuntimes.length < 2 && { skip: "only one runtime is installed" }),
}, () =>
  inWorkspace((root) => {
    const ways = [{ LANG: "C", TZ: "UTC", cwd: root }, { LANG: "tr_TR.UTF-8", TZ: "Asia/Kathmandu", cwd: "/" }];
    const outputs = bothRuntimes.map(([program, ...args], i) => {
      const { cwd, ...env } = ways[i]!;
      const directory = join(root, String(i));
      mkdirSync(directory);
      const { status, stdout, stderr } = spawnSync(program, [
        ...args,
        script("_edit-battery.ts"),
        directory,
        String(rounds(300, 3000)),
      ], {
        cwd,
        env: { ...process.env, ...env, LC_ALL: env.LANG },
        encoding: "utf8",
        maxBuffer: 1 << 28,
      });
      assert.equal(status, 0, stderr);
      return stdout.split("\n");
    });
    assert.ok(outputs[0]!.length > 300);
    assert.deepEqual(outputs[1], outputs[0]);
  }));
