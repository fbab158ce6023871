/**
 * Makes `dist/`: what runtimes other than Bun read of the package, file by file as in `lib/`, and a bundle of the SDK
 * that loads faster. `bun run build`; with `--sdk` only the bundle, if it is missing.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DIST = join(ROOT, "dist");
/** Before 24.2 Node does not say which file is the main one; a gate that took itself for imported would stay open. */
const IS_MAIN =
  "import.meta.main ?? process.getBuiltinModule('node:fs').realpathSync(process.argv[1]) === import.meta.filename";

if (!process.argv.includes("--sdk")) {
  rmSync(DIST, { recursive: true, force: true });
  compile();
  copyAssets();
}
await bundleSdk();

function compile(): void {
  const tsc = join(ROOT, "node_modules/.bin/tsc");
  execFileSync(tsc, ["-p", join(ROOT, ".ci/tsconfig.build.json")], { stdio: "inherit", cwd: ROOT });
  for (const name of globSync("**/*.{js,d.ts}", { cwd: DIST })) {
    const file = join(DIST, name);
    const text = readFileSync(file, "utf8");
    // The compiler leaves the names in declarations, and of files that are required or started as processes.
    const mended = text.replace(/"(\.{1,2}\/[^"\n]*)\.ts"/g, (whole, path: string) => {
      return existsSync(join(dirname(file), `${path}.js`)) ? `"${path}.js"` : whole;
    }).replace(/^if \(import\.meta\.main\)/gm, `if (${IS_MAIN})`);
    if (mended !== text) writeFileSync(file, mended);
  }
}

/** Everything in `lib/` that is no source of ours: pages, styles. */
function copyAssets(): void {
  for (const name of globSync("**/*.{js,css,html,svg,json}", { cwd: join(ROOT, "lib") })) {
    mkdirSync(dirname(join(DIST, name)), { recursive: true });
    cpSync(join(ROOT, "lib", name), join(DIST, name));
  }
}

/** The SDK's client in one file, which loads in a fifth of the time; what it needs of Node for logins loads when used. */
async function bundleSdk(): Promise<void> {
  const source = join(ROOT, "node_modules/@anthropic-ai/sdk");
  const { name, version } = JSON.parse(readFileSync(join(source, "package.json"), "utf8"));
  const file = join(DIST, `sdk-${version}.js`);
  if (existsSync(file)) return;
  const built = await Bun.build({
    entrypoints: [join(ROOT, ".ci/sdk.ts")],
    target: "node",
    format: "esm",
    minify: { whitespace: true, syntax: true }, // names stay: they are shown in errors
    plugins: [{
      name: "builtins when used",
      setup(build) {
        build.onLoad({ filter: /sdk\/internal\/node\.mjs$/ }, ({ path }) => {
          const names = [...readFileSync(path, "utf8").matchAll(/^import \* as (\w+) from '(node:\w+)';$/gm)];
          if (names.length === 0) throw new Error(`Cannot bundle the SDK as ${path} is not as it was: look at it`);
          const lines = names.map(([, name, from]) => `export const ${name} = process.getBuiltinModule("${from}");`);
          return { loader: "js", contents: lines.join("\n") };
        });
      },
    }],
  });
  const licences = globSync("LICENSE*", { cwd: source }).sort().map((name) => readFileSync(join(source, name), "utf8"));
  const head = [`${name} ${version} and @opentelemetry/api, bundled`, ...licences.map((text) => text.trim())];
  mkdirSync(DIST, { recursive: true });
  writeFileSync(file, `/*! ${head.join("\n\n").replaceAll("*/", "* /")}\n*/\n${await built.outputs[0]!.text()}`);
}
