import { existsSync, globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join, relative } from "node:path";
import { thrownWords } from "../../core/shown.ts";
import type { KindsOfAgent } from "../../tools/agent.ts";
import { isFound, ownExports, PACKAGE } from "../../runtime/own-copy.ts";

/** A folder of hooks that is put into a program. */
export interface Embedded {
  /** From the script's folder. */
  readonly path: string;
  /** By name: the real path, and whether it may be run. */
  readonly files: { readonly [name: string]: { readonly path: string; readonly executable: boolean } };
  /** The names of those that are imported. */
  readonly modules: readonly string[];
}

export interface BundleOptions {
  readonly script: string;
  readonly folders: readonly Embedded[];
  /** Those in files are put into it. */
  readonly agents: KindsOfAgent | undefined;
  readonly out: string;
  readonly compile: boolean;
  readonly target: string | undefined;
}

/** The variable by which a built program is asked to list its hooks and agents, and end. */
export const ASKED = "CROCHET_BUILT";

/** Makes one file or binary of a script and its folders of hooks. @throws {Error} with why not, in the words of the bundler */
export async function bundleProgram(options: BundleOptions): Promise<void> {
  const { script, out, compile, target } = options;
  const { Bun } = globalThis as any;
  const built = await Bun.build({
    entrypoints: [ENTRY],
    format: "esm",
    target: compile ? "bun" : target ?? "bun",
    throw: false,
    external: missingPeers(script),
    ...(compile
      ? {
        bytecode: true,
        // What lies in the directory it is called in must not be run.
        compile: { outfile: out, autoloadDotenv: false, autoloadBunfig: false, ...(target && { target }) },
      }
      : { outdir: dirname(out), naming: { entry: relative(dirname(out), out) } }),
    plugins: [{ name: "crochet build", setup: (build: any) => embed(build, options) }],
  });
  if (!built.success) throw new Error(built.logs.map(thrownWords).join("; "));
}

const ENTRY = "crochet:entry";
const CODE = /\.[cm]?[jt]sx?$/;

function embed(build: any, options: BundleOptions): void {
  const { script } = options;
  const root = dirname(script);
  build.onResolve({ filter: /^crochet:/ }, ({ path }: Import) => ({ path, namespace: "crochet-build" }));
  build.onLoad({ filter: /^/, namespace: "crochet-build" }, ({ path }: Import) => ({
    loader: "js",
    contents: path === ENTRY ? entry(options) : inside(options),
  }));
  const own = ownExports();
  // The copy of which the script has its hooks here, whatever the target.
  build.onResolve({ filter: /^crochet(?:\/|$)/ }, ({ path, importer }: Import) => {
    const folder = dirname(importer);
    return { path: isFound(folder, "crochet") ? (globalThis as any).Bun.resolveSync(path, folder) : own.get(path) };
  });
  build.onResolve({ filter: /^@anthropic-ai\/sdk\/client$/ }, ({ importer }: Import) => {
    const [sdk] = globSync(join(packageOf(importer), "dist/sdk-*.js"));
    return sdk === undefined ? undefined : { path: sdk };
  });
  build.onLoad({ filter: CODE }, ({ path }: Import) => {
    const text = readFileSync(path, "utf8");
    const isOurs = path.startsWith(`${PACKAGE}/`) && path !== script || path.includes("/node_modules/crochet/");
    if (isOurs || !text.includes("import.meta")) return undefined;
    return { loader: "js", contents: placed(text, path, root, path === script) };
  });
}

/** The package that a file is part of: an agent may have another copy of ours than this one. */
function packageOf(file: string): string {
  const folder = dirname(file);
  return folder === file || existsSync(join(folder, "package.json")) ? folder : packageOf(folder);
}

interface Import {
  readonly path: string;
  readonly importer: string;
}

/** The script is imported, as a command does to list its hooks; otherwise it is the program itself. */
function entry({ script, agents }: BundleOptions): string {
  return `import "crochet:inside";
import script from ${JSON.stringify(script)};
export default script;
if (process.env.${ASKED} === "list") {
  const own = await script.ownHooks();
  const agents = ${agents ? "await script.ownAgents(process.cwd(), console.error)" : "undefined"};
  console.log(JSON.stringify({ hooks: await own.load(), agents: agents?.inCode }));
  process.exit(0);
}
`;
}

/** The module that has the hooks and agents inside, evaluated before anything else. */
function inside({ folders, agents }: BundleOptions): string {
  const texts = folders.map(({ path, files, modules }) => {
    const bytesOf = (
      { path, executable }: Embedded["files"][string],
    ) => [readFileSync(path).toString("base64"), executable];
    const all = JSON.stringify(Object.fromEntries(Object.entries(files).map(([name, file]) => [name, bytesOf(file)])));
    const load = (name: string) => `${JSON.stringify(name)}: () => import(${JSON.stringify(files[name]!.path)})`;
    return `${JSON.stringify(path)}: { files: ${all}, modules: { ${modules.map(load).join(", ")} } }`;
  });
  return `const { join } = process.getBuiltinModule("node:path");
const { fileURLToPath, pathToFileURL } = process.getBuiltinModule("node:url");
const here = fileURLToPath(new URL(".", import.meta.url));
const loading = globalThis[Symbol.for("crochet.loading-scripts")] ??= new Set();
if (process.env.${ASKED} === "list") loading.add("list");
const inside = { ${texts.join(",\n")} };
const folders = Object.fromEntries(Object.entries(inside).map(([path, one]) => [join(here, path), one]));
const agents = JSON.parse(${JSON.stringify(JSON.stringify(agents ? { [agents.folder]: agents.inFiles } : {}))});
globalThis[Symbol.for("crochet.built")] = { folders, agents };
/** What import.meta is in a source: as if it lay around the program, and a hook where its folder was put. */
export function place(path, main) {
  const folder = Object.keys(inside).find((one) => inside[one].at && path.startsWith(one + "/"));
  const filename = folder === undefined ? join(here, path) : inside[folder].at + path.slice(folder.length);
  const dirname = join(filename, "..");
  return { filename, path: filename, dirname, dir: dirname, url: pathToFileURL(filename).href, main: main && loading.size === 0 };
}
`;
}

/** The address of each source is its own: all have that of the program otherwise, and so would find its hooks. */
function placed(text: string, path: string, root: string, main: boolean): string {
  const { Bun } = globalThis as any;
  // The script is the program: what it is called by stays.
  const names = main ? ["main"] : ["url", "path", "filename", "dir", "dirname"];
  const define = Object.fromEntries(names.map((name) => [`import.meta.${name}`, `crochetPlace.${name}`]));
  const loader = extname(path).replace(/^\.[cm]?/, "");
  const code = new Bun.Transpiler({ loader, target: "bun", trimUnusedImports: true, define }).transformSync(text);
  return `import { place as crochetPlaceOf } from "crochet:inside";
const crochetPlace = crochetPlaceOf(${JSON.stringify(relative(root, path))}, ${main});
${code}`;
}

/** Optional packages that are not installed: what needs them says so when it is used. */
function missingPeers(script: string): string[] {
  const found = createRequire(script);
  const { peerDependencies = {} } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
  return Object.keys(peerDependencies).filter((name) =>
    !found.resolve.paths(name)?.some((folder) => existsSync(join(folder, name)))
  ).flatMap((name) => [name, `${name}/*`]);
}
