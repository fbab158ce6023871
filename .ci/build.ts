/**
 * Makes `dist/`: what runtimes other than Bun read of the package, file by file as in `lib/`, and the parts of the SDK
 * that are needed, so that the package brings none. `bun run build`; with `--sdk` only the latter, where they are missing.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DIST = join(ROOT, "dist");
const SDK = join(ROOT, "node_modules/@anthropic-ai/sdk");
const { version } = JSON.parse(readFileSync(join(SDK, "package.json"), "utf8"));
/** One for model calls, one for proofs. They share nothing: what starts an agent is one file. */
const PARTS = ["sdk", "sdk-proof"];

/** Before 24.2 Node does not say which file is the main one; a gate that took itself for imported would stay open. */
const IS_MAIN =
  "import.meta.main ?? process.getBuiltinModule('node:fs').realpathSync(process.argv[1]) === import.meta.filename";

if (!process.argv.includes("--sdk")) {
  rmSync(DIST, { recursive: true, force: true });
  compile();
  copyAssets();
}
for (const part of PARTS) {
  const bundle = join(DIST, `${part}-${version}.js`);
  if (!existsSync(bundle)) await bundleSdk(join(ROOT, ".ci", `${part}.ts`), bundle);
}

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

/**
 * The SDK's client without the resources nobody calls, in one file: it loads in a fifth of the time. What of Node it
 * needs for logins is looked up when it is used, as in the SDK itself.
 */
async function bundleSdk(entry: string, bundle: string): Promise<void> {
  const built = await Bun.build({
    entrypoints: [entry],
    target: "node",
    format: "esm",
    minify: { whitespace: true, syntax: true }, // names stay: errors are told by them
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
  const licence = ["LICENSE", "LICENSE-MIT"].map((name) => readFileSync(join(SDK, name), "utf8").trim()).join("\n\n");
  const head = `@anthropic-ai/sdk ${version} and @opentelemetry/api, bundled`;
  mkdirSync(DIST, { recursive: true });
  writeFileSync(bundle, `/*! ${head}\n\n${licence.replaceAll("*/", "* /")}\n*/\n${await built.outputs[0]!.text()}`);
}
