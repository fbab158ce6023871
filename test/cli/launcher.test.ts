import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { inFolder } from "../tape/_stage.ts";

const LAUNCHER = fileURLToPath(new URL("../../lib/cli/crochet", import.meta.url));

/** A package with the launcher and nothing else; `programs` say what they were called with. */
function pack(folder: string, programs: readonly string[]): string {
  const bin = join(folder, "package/lib/cli/crochet");
  for (const path of ["package/lib/cli", "bin", "links/deep"]) mkdirSync(join(folder, path), { recursive: true });
  copyFileSync(LAUNCHER, bin);
  for (const path of programs) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), `#!/bin/sh\necho "${path}" "$@"\n`);
    chmodSync(join(folder, path), 0o755);
  }
  return bin;
}

/** Without any program on PATH but those of the folder: not even those the shell is used to. */
function launch(folder: string, bin: string, cwd = folder, env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync("/bin/sh", [bin, "replay", "two words"], {
    cwd,
    env: { PATH: join(folder, "bin"), ...env },
  });
  return { code: status, out: String(stdout), err: String(stderr) };
}

test("crochet hands over to bun of its package, then bun on PATH, then deno, and else says how to install one", async () => {
  await inFolder((folder) => {
    const bin = pack(folder, ["package/node_modules/.bin/bun", "bin/bun", "bin/deno"]);
    const main = join(dirname(bin), "main.ts");
    assert.equal(launch(folder, bin).out, `package/node_modules/.bin/bun ${main} replay two words\n`);
    assert.equal(
      launch(folder, "crochet", dirname(bin)).out,
      "package/node_modules/.bin/bun ./main.ts replay two words\n",
    );
    rmSync(join(folder, "package/node_modules"), { recursive: true });
    assert.equal(launch(folder, bin).out, `bin/bun ${main} replay two words\n`);
    rmSync(join(folder, "bin/bun"));
    assert.match(
      launch(folder, bin).out,
      /^bin\/deno run -A --quiet --config \S+\/deno\.json \S+\/main\.ts replay two/,
    );
    rmSync(join(folder, "bin/deno"));
    assert.deepEqual(launch(folder, bin), {
      code: 2,
      out: "",
      err: "crochet: Cannot start as neither Bun nor Deno is installed: npm install --global bun\n",
    });
    assert.deepEqual(launch(folder, bin, folder, { OS: "Windows_NT" }).code, 2);
    return Promise.resolve();
  });
});

test("crochet finds its package through links of links, wherever it is called from", async () => {
  await inFolder((folder) => {
    const bin = pack(folder, ["package/node_modules/.bin/bun"]);
    symlinkSync(bin, join(folder, "links/absolute"));
    symlinkSync("../absolute", join(folder, "links/deep/relative"));
    symlinkSync(realpathSync("/usr/bin/readlink"), join(folder, "bin/readlink"));
    const places: [string, string][] = [[folder, "links/deep/relative"], ["/", join(folder, "links/deep/relative")], [
      join(folder, "links/deep"),
      "./relative",
    ]];
    for (const [cwd, name] of places) {
      assert.equal(
        launch(folder, name, cwd).out,
        `package/node_modules/.bin/bun ${dirname(bin)}/main.ts replay two words\n`,
      );
    }
    return Promise.resolve();
  });
});
