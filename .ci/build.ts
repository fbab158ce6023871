/**
 * Makes `dist/`: JavaScript for every runtime (a clone gives Bun the sources), file by file as in `lib/`, declarations of what the package
 * exports, schemas for editors, and bundles of the SDK and of `crochet hook` that load faster. With `--if-older`, only if something in `lib/` is newer, or
 * another Bun made it.
 */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const LIB = join(ROOT, "lib");
const DONE = join(ROOT, "dist");
/** Made beside, and put in place as a whole: others read what is there meanwhile. */
const DIST = join(ROOT, `.dist-${process.pid}`);
/** What is bundled, as CommonJS. */
const PARTS = `${DIST}-parts`;

/** Named after the Bun that can use its bytecode: `hook.ts` looks for it. */
const HOOK = `cli/hook-${Bun.revision}.js`;

/** Node before 24.2 has no import.meta.main: a gate that took itself for imported would stay open. */
const IS_MAIN =
  "import.meta.main ?? process.getBuiltinModule('node:fs').realpathSync(process.argv[1]) === import.meta.filename";

/** The spans of the SDK's methods, as far as its client asks for them: we send requests without those methods. */
const NO_SPANS =
  "export const trace = { getTracerProvider: () => ({ getTracer() {} }) }, context = {}, propagation = {}, SpanKind = {}, SpanStatusCode = {};";

if (!process.argv.includes("--if-older") || isOlder()) {
  try {
    compile("--removeComments");
    compile("--declaration", "--emitDeclarationOnly");
    keepExported();
    fixNames();
    writeImports();
    await writeSchemas();
    await bundleSdk();
    await bundleHook();
    if (existsSync(DONE)) renameSync(DONE, `${DIST}-old`);
    renameSync(DIST, DONE);
  } finally {
    for (const left of [DIST, `${DIST}-old`, PARTS]) rmSync(left, { recursive: true, force: true });
  }
}

function isOlder(): boolean {
  const built = statSync(join(DONE, HOOK), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return globSync("**/*", { cwd: LIB }).some((name) => statSync(join(LIB, name)).mtimeMs > built);
}

function compile(...flags: string[]): void {
  tsc("-p", join(ROOT, ".ci/tsconfig.build.json"), "--outDir", DIST, ...flags);
}

function tsc(...args: string[]): void {
  // By the runtime that runs this: the compiler's own first line asks for Node.
  const command = [join(ROOT, "node_modules/.bin/tsc"), "--noCheck", ...args];
  execFileSync(process.execPath, command, { stdio: "inherit", cwd: ROOT });
}

/** An import map by which Deno finds this package for scripts outside any project. */
function writeImports(): void {
  const files = Object.entries(exported()).filter(([, { types }]) => types);
  const imports = files.map(([path, file]) => [`crochet${path.slice(1)}`, file.default.replace("./dist/", "./")]);
  writeFileSync(join(DIST, "imports.json"), `${JSON.stringify({ imports: Object.fromEntries(imports) }, null, 2)}\n`);
}

/** What editors know of the files that people write. */
async function writeSchemas(): Promise<void> {
  const { schemas } = await import("./schemas.ts");
  mkdirSync(join(DIST, "schemas"));
  for (const [name, schema] of Object.entries(schemas)) {
    writeFileSync(join(DIST, "schemas", name), `${JSON.stringify(schema)}\n`);
  }
}

function exported(): { [path: string]: { types?: string; default: string } } {
  return JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).exports;
}

/** Removes the declarations that no export leads to. */
function keepExported(): void {
  const kept = new Set<string>();
  const keep = (file: string) => {
    if (kept.has(file)) return;
    kept.add(file);
    const code = readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\//g, ""); // examples import files of their readers
    const names = code.matchAll(/(?:from |import\()"(\.[^"]*)\.[jt]s"/g);
    for (const [, path] of names) keep(join(dirname(file), `${path}.d.ts`));
  };
  for (const { types } of Object.values(exported())) if (types) keep(types.replace("./dist", DIST));
  for (const name of globSync("**/*.d.ts", { cwd: DIST })) if (!kept.has(join(DIST, name))) rmSync(join(DIST, name));
}

/** The compiler leaves the names in declarations, and of files that are required or started as processes. */
function fixNames(): void {
  for (const name of globSync("**/*.{js,d.ts}", { cwd: DIST })) {
    const file = join(DIST, name);
    const text = readFileSync(file, "utf8");
    const fixed = text.replace(
      /"(\.{1,2}\/[^"\n]*)\.ts"/g,
      (whole, path: string) => existsSync(join(LIB, dirname(name), `${path}.ts`)) ? `"${path}.js"` : whole,
    ).replace(/^if \(import\.meta\.main\)/gm, `if (${IS_MAIN})`);
    if (fixed !== text) writeFileSync(file, fixed);
  }
}

/** The SDK's client in one file, which loads in a sixth of the time; what it needs of Node for logins loads when used. */
async function bundleSdk(): Promise<void> {
  const source = join(ROOT, "node_modules/@anthropic-ai/sdk");
  const { name, version } = JSON.parse(readFileSync(join(source, "package.json"), "utf8"));
  const file = join(DIST, `sdk-${version}.js`);
  const built = await Bun.build({
    entrypoints: [join(ROOT, ".ci/sdk.ts")],
    target: "node",
    format: "esm",
    minify: { whitespace: true, syntax: true }, // names stay: they are shown in errors
    plugins: [{
      name: "builtins when used, no spans",
      setup(build) {
        build.onLoad({ filter: /@opentelemetry\/api\/.*\/index\.js$/ }, () => ({ loader: "js", contents: NO_SPANS }));
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
  const head = [`${name} ${version}, bundled`, ...licences.map((text) => text.trim())].join("\n\n");
  // By its first line Bun knows that there is nothing left to compile.
  writeFileSync(file, `// @bun\n/*! ${head.replaceAll("*/", "* /")}\n*/\n${await built.outputs[0]!.text()}`);
}

/**
 * All that `crochet hook` may load of ours, in one file with its bytecode: a process is started for every event, and does
 * little but load. All of it, so that no class is there twice; from CommonJS, in which a module that is not used costs
 * nothing.
 */
async function bundleHook(): Promise<void> {
  // Made of what is built already, and not of the sources: there the compiler loses names within import().
  const kind = join(DIST, "package.json");
  writeFileSync(kind, '{ "type": "commonjs" }');
  const flags = ["--ignoreConfig", "--allowJs", "--module", "NodeNext", "--target", "ES2024", "--rootDir", DIST];
  tsc(...flags, "--outDir", PARTS, ...globSync(join(DIST, "*/**/*.js")));
  rmSync(kind);
  // Bun would write the place of the build. What asks for more than packages lies two folders below ours, as this file does.
  const here = "const crochetHere = { dirname: __dirname, get url() { return Bun.pathToFileURL(__filename).href; } };";
  const { outputs } = await Bun.build({
    entrypoints: [join(PARTS, "cli/_hook-command.js")],
    target: "bun",
    format: "cjs",
    bytecode: true,
    packages: "external",
    minify: { whitespace: true, syntax: true },
    banner: here,
    define: { "import.meta.url": "crochetHere.url", "import.meta.dirname": "crochetHere.dirname" },
  });
  const file = join(DIST, HOOK);
  for (const built of outputs) {
    writeFileSync(built.kind === "bytecode" ? `${file}.jsc` : file, new Uint8Array(await built.arrayBuffer()));
  }
  const isWhole = existsSync(`${file}.jsc`) && typeof (await import(file)).hookProcess === "function";
  if (!isWhole || readFileSync(file, "utf8").includes(ROOT)) {
    throw new Error(
      `Cannot bundle the hook as ${HOOK} lacks its bytecode, does not load or names this folder: look at it`,
    );
  }
}
