import assert from "node:assert/strict";
import { realpathSync, symlinkSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { type Hook, hookOn } from "../../lib/core/hook.ts";
import { fire } from "../../lib/core/dispatch.ts";
import { deny } from "../../lib/core/verdict.ts";
import { absolute, hookFiles } from "../../lib/hooks/hook-files.ts";
import { HookRegistry } from "../../lib/hooks/registry.ts";
import { rounds } from "../_counts.ts";
import { scratch } from "../_scratch.ts";
import { environment } from "./_fire.ts";

/** Longer than a name can be that is there. */
const NAME = "n".repeat(5000);

test("ctx.files reads and writes below the agent's folder, and makes the folders above a file", async () => {
  using folder = scratch({ "a.txt": "A", "d/x.txt": "X" });
  const files = await hookFiles(folder.path);
  assert.equal(await files.read("a.txt"), "A");
  assert.equal(await files.read(`${folder.path}/d/../d/x.txt`), "X");
  await files.write("new/deep/b.txt", "B");
  await files.write("new/deep/b.txt", "C");
  assert.equal(await files.read("new/deep/b.txt"), "C");
  assert.deepEqual(await files.list("."), ["a.txt", "d", "new"]);
});

test("ctx.files says undefined or nothing for what is not there, and fails for what cannot be read", async () => {
  using folder = scratch({ "a.txt": "A", "d/x.txt": "X" });
  const files = await hookFiles(folder.path);
  for (const path of ["none", "d", "a.txt/below", NAME]) assert.equal(await files.read(path), undefined, path);
  for (const path of ["none", "a.txt", NAME]) assert.deepEqual(await files.list(path), [], path);
  await assert.rejects(files.write("a.txt/below", "B"));
  await assert.rejects(files.read("nul\0byte"));
});

test("ctx.files.realPath follows every link, and keeps the names of what is not there yet", async () => {
  using folder = scratch({ "d/x.txt": "X" });
  symlinkSync("d", `${folder.path}/link`);
  symlinkSync("link/x.txt", `${folder.path}/twice`);
  symlinkSync("nowhere", `${folder.path}/broken`);
  const root = realpathSync(folder.path);
  const files = await hookFiles(folder.path);
  const table = [
    [".", ""],
    ["link/x.txt", "/d/x.txt"],
    ["twice", "/d/x.txt"],
    ["link/new/y.txt", "/d/new/y.txt"],
    ["none/../d", "/d"],
    ["broken", "/broken"],
    [`link/${NAME}/.env`, `/d/${NAME}/.env`],
    [`link${"/deep".repeat(2000)}/.env`, `/d${"/deep".repeat(2000)}/.env`],
  ] as const;
  for (const [path, real] of table) assert.equal(await files.realPath(path), root + real, path);
  assert.equal(await files.realPath("/"), "/");
});

test("absolute() always gives what node:path gives", () => {
  const part = fc.constantFrom("a", "b c", ".", "..", "", "...", ".env");
  const path = fc.tuple(fc.boolean(), fc.array(part)).map(([whole, parts]) => (whole ? "/" : "") + parts.join("/"));
  fc.assert(
    fc.property(path, path, (cwd, given) => {
      assert.equal(absolute(`/${cwd}`, given), resolve(`/${cwd}`, given));
    }),
    { numRuns: rounds(200, 5000) },
  );
});

test("ctx.files is there in a loop of one's own, and a host without files says so", async () => {
  using folder = scratch({ "a.txt": "A" });
  const reads: Hook<"stop"> = async (_, ctx) => deny(await ctx.files.read("a.txt") ?? "none");
  const hooks = new HookRegistry().register({ stop: reads });
  const stop = { event: "stop", last_assistant_message: "Done" } as const;
  assert.equal((await hooks.fire(stop, { cwd: folder.path })).reason, "A");
  const { env } = environment(folder.path, { files: undefined });
  const { warnings } = await fire([hookOn("stop", reads)], { ...stop } as never, env);
  assert.match(warnings.join(), /Cannot use files as this host gives hooks none/);
});
