import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { RUNTIME } from "../_runtime.ts";
import { scratch } from "../_scratch.ts";

const LAUNCHER = fileURLToPath(new URL("../../lib/cli/crochet", import.meta.url));

/** A clone with the launcher and nothing else; `programs` say what they were called with. */
function pack(folder: string, programs: readonly string[]): string {
  const bin = join(folder, "package/lib/cli/crochet");
  for (const path of ["package/lib/cli", "bin", "links/deep"]) mkdirSync(join(folder, path), { recursive: true });
  copyFileSync(LAUNCHER, bin);
  writeFileSync(join(dirname(bin), "main.ts"), "");
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

test("bun never keeps compiled code below a home that is not an absolute path: that would be the package", () => {
  using here = scratch();
  const bin = pack(here.path, []);
  writeFileSync(join(here.path, "bin/bun"), '#!/bin/sh\necho "${BUN_RUNTIME_TRANSPILER_CACHE_PATH-kept}"\n', {
    mode: 0o755,
  });
  const rows: [env: Record<string, string>, out: string][] = [
    [{}, "kept"],
    [{ HOME: "/home/me", XDG_CACHE_HOME: "/var/cache" }, "kept"],
    [{ HOME: "" }, "0"],
    [{ HOME: "." }, "0"],
    [{ HOME: "/home/me", XDG_CACHE_HOME: "cache" }, "0"],
  ];
  for (const [env, out] of rows) {
    assert.equal(launch(here.path, bin, here.path, env).out, `${out}\n`, JSON.stringify(env));
  }
});

test("crochet hands over to bun of its package, then bun on PATH, then deno, and else says how to install one", () => {
  using here = scratch();
  const bin = pack(here.path, ["package/node_modules/.bin/bun", "bin/bun", "bin/deno"]);
  const main = join(dirname(bin), "main.ts");
  const alone = `--cwd=${dirname(bin)} --no-env-file --config=/dev/null`;
  assert.equal(launch(here.path, bin).out, `package/node_modules/.bin/bun ${alone} ${main} replay two words\n`);
  assert.equal(
    launch(here.path, "crochet", dirname(bin)).out,
    `package/node_modules/.bin/bun ${alone} ${main} replay two words\n`,
  );
  rmSync(join(here.path, "package/node_modules"), { recursive: true });
  assert.equal(launch(here.path, bin).out, `bin/bun ${alone} ${main} replay two words\n`);
  rmSync(main);
  const dist = `${dirname(bin)}/../../dist/cli`;
  const built = `--cwd=${dist} --no-env-file --config=/dev/null ${dist}/main.js`;
  assert.equal(launch(here.path, bin).out, `bin/bun ${built} replay two words\n`, "a package has no sources");
  rmSync(join(here.path, "bin/bun"));
  // In a project Deno finds what is imported there; elsewhere an import map names our copy.
  assert.match(
    launch(here.path, bin).err,
    /^crochet: Cannot start as Deno needs a package that was built: install the tag/,
  );
  mkdirSync(join(here.path, "package/dist/cli"), { recursive: true });
  writeFileSync(join(here.path, "package/dist/cli/main.js"), "");
  const started = () => launch(here.path, bin).out.replaceAll(`${dirname(bin)}/../../`, "");
  assert.equal(
    started(),
    "bin/deno run -A --quiet --node-modules-dir=manual --import-map=dist/imports.json dist/cli/main.js replay two words\n",
  );
  writeFileSync(join(here.path, "deno.jsonc"), "{}");
  assert.equal(started(), "bin/deno run -A --quiet --node-modules-dir=manual dist/cli/main.js replay two words\n");
  writeFileSync(join(here.path, "package/deno.json"), "{}");
  assert.match(started(), /^bin\/deno run -A --quiet --config deno\.json \S+\/main\.ts replay two words\n$/);
  rmSync(join(here.path, "bin/deno"));
  assert.deepEqual(launch(here.path, bin), {
    code: 2,
    out: "",
    err: "crochet: Cannot start as neither Bun nor Deno is installed: npm install --global bun\n",
  });
  assert.equal(launch(here.path, bin, here.path, { OS: "Windows_NT" }).code, 2);
});

test("a runtime that is given the launcher as a script never reads a line for the shell", () => {
  const [before, ...after] = readFileSync(LAUNCHER, "utf8").split("*/");
  assert.match(before!, /^#!.*\n":" \/\* /);
  assert.deepEqual(after.map((text) => text.trim()), [';\nawait (await import("../../dist/cli/main.js")).begin();']);
});

test("crochet finds its package through links of links, wherever it is called from", () => {
  using here = scratch();
  const bin = pack(here.path, ["package/node_modules/.bin/bun"]);
  symlinkSync(bin, join(here.path, "links/absolute"));
  symlinkSync("../absolute", join(here.path, "links/deep/relative"));
  symlinkSync(realpathSync("/usr/bin/readlink"), join(here.path, "bin/readlink"));
  const places: [string, string][] = [
    [here.path, "links/deep/relative"],
    ["/", join(here.path, "links/deep/relative")],
    [
      join(here.path, "links/deep"),
      "./relative",
    ],
  ];
  for (const [cwd, name] of places) {
    assert.match(
      launch(here.path, name, cwd).out,
      new RegExp(`^\\S+/bun .* ${dirname(bin)}/main.ts replay two words\n`),
    );
  }
});

test("a checkout never has Bun run its code or change the environment by bunfig.toml, tsconfig.json or .env", () => {
  using here = scratch();
  const cwd = join(here.path, "checkout/deep");
  mkdirSync(cwd, { recursive: true });
  for (const dir of [dirname(cwd), cwd]) {
    writeFileSync(join(dir, "evil.ts"), `await Bun.write(${JSON.stringify(join(here.path, "ran"))}, "");\n`);
    writeFileSync(join(dir, "bunfig.toml"), 'preload = ["./evil.ts"]\n');
    writeFileSync(join(dir, ".env"), "CROCHET_MODEL=of-checkout\nANTHROPIC_BASE_URL=http://of-checkout.example\n");
    writeFileSync(join(dir, "tsconfig.json"), '{ "compilerOptions": { "paths": { "*": ["./evil.ts"] } } }');
  }
  const bun = join(dirname(LAUNCHER), "../../node_modules/.bin");
  const env = { PATH: `${bun}:${process.env.PATH}`, HOME: here.path };
  const said = (...words: string[]) => {
    const { status, stdout, stderr } = spawnSync("/bin/sh", [LAUNCHER, ...words], { cwd, env, encoding: "utf8" });
    assert.equal(status, 0, `${words.join(" ")}: ${stderr}`);
    return stdout;
  };
  const shell = said("tool", "Bash", '{"command":"pwd; env"}');
  assert.ok(shell.startsWith(`${cwd}\n`), shell);
  assert.doesNotMatch(shell.slice(shell.indexOf("\n")), /of-checkout|CROCHET_FROM/);
  for (const words of [["hooks"], ["doctor"], ["fixtures", "ls"], ["--version"]]) said(...words);
  assert.equal(existsSync(join(here.path, "ran")), false);
});

test("a Node that is too old gets one line with what to use, never an error about what it lacks", () => {
  using here = scratch();
  const script = join(here.path, "old.mjs");
  const main = JSON.stringify(pathToFileURL(join(dirname(LAUNCHER), "main.ts")).href);
  writeFileSync(script, `delete Promise.withResolvers;\nawait (await import(${main})).begin();\n`);
  for (const words of [["replay"], ["hook", "stop.ts"], ["doctor"], []]) {
    const { status, stdout, stderr } = spawnSync(RUNTIME[0]!, [...RUNTIME.slice(1), script, ...words], {
      cwd: here.path,
      encoding: "utf8",
    });
    // Exit code 2 would refuse every event of a host.
    assert.deepEqual([status, stdout], [words[0] === "hook" ? 1 : 2, ""], stderr);
    assert.match(
      stderr,
      /^crochet: Cannot run on Node \d+\.\S+ as it is too old: use Bun, Deno, or Node 22\.18 or newer\n$/,
    );
  }
});
