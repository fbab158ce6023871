import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { linkSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import * as disk from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { commit, type Disk } from "../../lib/files/change-file.ts";
import { inWorkspace } from "./_workspace.ts";

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
  test(`S0.23, P23: a failure at any step always leaves the original (${names === 1 ? "one name" : "hard links, written in place"})`, () =>
    inWorkspace(async (root) => {
      const old = Buffer.from("one two three\n");
      const failures: string[] = [];
      // Shorter than the old text, and longer: what was written past the old end has to go again.
      for (const [code, word] of [["ENOSPC", "2"], ["EACCES", "2"], ["EIO", "2"], ["EDQUOT", "twenty-two"]] as const) {
        const now = Buffer.from(`one ${word} three\n`);
        const splices = [{ start: 4, end: 7, bytes: Buffer.from(word) }];
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
