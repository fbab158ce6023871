/**
 * Makes `dist/`: what runtimes other than Bun read of the package, file by file as in `lib/`, and what is needed of three
 * packages that nobody then has to install. `bun run build`; with `--sdk` only the latter, where it is missing.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DIST = join(ROOT, "dist");
/** What is bundled of what, as the file of that name here exports it. No two share a file: what starts an agent is one. */
const PARTS = [
  { part: "sdk", of: "@anthropic-ai/sdk", and: "@opentelemetry/api" },
  { part: "sdk-proof", of: "@anthropic-ai/sdk", and: "@opentelemetry/api" },
  { part: "opentelemetry", of: "@opentelemetry/api" },
  { part: "fast-check", of: "fast-check", and: "pure-rand" },
];

/** Before 24.2 Node does not say which file is the main one; a gate that took itself for imported would stay open. */
const IS_MAIN =
  "import.meta.main ?? process.getBuiltinModule('node:fs').realpathSync(process.argv[1]) === import.meta.filename";

/** Types of a package that not everybody has who uses what has them; only declarations have such lines. */
const OPTIONAL_TYPES = /^(?:import|export) type .*"fast-check"\)?;$/gm;

if (!process.argv.includes("--sdk")) {
  rmSync(DIST, { recursive: true, force: true });
  compile();
  copyAssets();
}
for (const { part, of, and } of PARTS) await bundle(part, join(ROOT, "node_modules", of), and);

function compile(): void {
  const tsc = join(ROOT, "node_modules/.bin/tsc");
  execFileSync(tsc, ["-p", join(ROOT, ".ci/tsconfig.build.json")], { stdio: "inherit", cwd: ROOT });
  for (const name of globSync("**/*.{js,d.ts}", { cwd: DIST })) {
    const file = join(DIST, name);
    const text = readFileSync(file, "utf8");
    // The compiler leaves the names in declarations, and of files that are required or started as processes.
    const mended = text.replace(/"(\.{1,2}\/[^"\n]*)\.ts"/g, (whole, path: string) => {
      return existsSync(join(dirname(file), `${path}.js`)) ? `"${path}.js"` : whole;
    }).replace(/^if \(import\.meta\.main\)/gm, `if (${IS_MAIN})`).replace(OPTIONAL_TYPES, "// @ts-ignore\n$&");
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
 * A part in one file, without what nobody calls: the SDK's client so loads in a fifth of the time. What of Node it
 * needs for logins is looked up when it is used, as in the SDK itself.
 */
async function bundle(part: string, source: string, and: string | undefined): Promise<void> {
  const { name, version } = JSON.parse(readFileSync(join(source, "package.json"), "utf8"));
  const file = join(DIST, `${part}-${version}.js`);
  if (existsSync(file)) return;
  const built = await Bun.build({
    entrypoints: [join(ROOT, `.ci/${part}.ts`)],
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
  const licences = globSync("LICENSE*", { cwd: source }).sort().map((file) => readFileSync(join(source, file), "utf8"));
  const head = `Of ${name} ${version}${and ? ` and ${and}` : ""}, bundled`;
  const comment = [head, ...licences.map((text) => text.trim())].join("\n\n").replaceAll("*/", "* /");
  mkdirSync(DIST, { recursive: true });
  writeFileSync(file, `/*! ${comment}\n*/\n${await built.outputs[0]!.text()}`);
}
