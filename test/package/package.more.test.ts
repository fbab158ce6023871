import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, matchesGlob } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { schemas } from "../../.ci/schemas.ts";
import { ROOT } from "../_runtime.ts";
import { put, scratch } from "../_scratch.ts";
import { installedCommands, nextLines, npmFolder, registryOf, stranger } from "./_first-project.ts";
import { clone, install, type Installed, run, runIn } from "./_install.ts";
import { AGENT, HOOK, PLAIN, REPLAYED, SCRIPTED, STREAM, WIRED } from "./_sources.ts";
import { test } from "./_online.ts";

const MODULES = fileURLToPath(new URL("../../node_modules", import.meta.url));
const TSC = join(MODULES, ".bin/tsc");
let made: Installed | undefined;
let skip: string | false = "Deno" in globalThis ? "the package is tried on every runtime once, under Bun" : false;
if (!skip) {
  try {
    made = install();
  } catch (error) {
    if (!/registry/.test((error as Error).message)) throw error;
    skip = (error as Error).message;
  }
}
// Thousands of files: longer than a hook of a test may take.
after(() => made && spawn("rm", ["-rf", made.folder], { detached: true, stdio: "ignore" }).unref());

if (made) {
  mkdirSync(join(made.project, "hooks"));
  writeFileSync(join(made.project, "wired.ts"), WIRED);
  writeFileSync(join(made.project, "recorded.sse"), STREAM);
  writeFileSync(join(made.project, "agent.ts"), AGENT);
  writeFileSync(join(made.project, "scripted.ts"), SCRIPTED);
  writeFileSync(join(made.project, "hooks/pre-tool-use@Read.secret.ts"), HOOK);
}

const noNode = skip || (made?.only.node === undefined && "there is no Node new enough, here or in the registry");
const RUNTIMES = [
  { name: "bun", args: ["run"], skip },
  { name: "deno", args: ["run", "-A", "--quiet"], skip },
  { name: "node", args: [], skip: noNode },
] as const;

test("the package holds what was built of each source and the types of what it exports", { skip }, () => {
  const { packed, project, clone: copy } = made!;
  const folders = new Set(packed.map((path) => path.split("/")[0]!));
  const expected = ["LICENSE", "README.md", "dist", "docs", "hooks", "lib", "llms.txt", "package.json"];
  assert.deepEqual([...folders].sort(), expected);
  const built = packed.flatMap((path) => /^dist\/(?!sdk-|cli\/hook-)(.*)\.js$/.exec(path)?.[1] ?? []);
  const sources = globSync("**/*.ts", { cwd: join(copy, "lib") }).map((path) => path.replace(/\.ts$/, ""));
  assert.deepEqual(built.sort(), sources.sort());
  const types = packed.filter((path) => path.endsWith(".d.ts")).length;
  assert.ok(types > 50 && types < sources.length / 2, `${types} declarations`);
  const bundled = packed.filter((path) => path.startsWith("dist/cli/hook-")).map((path) => path.replace(/-\w+/, ""));
  assert.deepEqual(bundled.sort(), ["dist/cli/hook.js", "dist/cli/hook.js.jsc"]);
  // Nothing is in it twice: no source, but for the adapters, which are written out as they are.
  const others = packed.filter((path) =>
    /\.map$|\.orig$|^lib\/(?!cli\/crochet$|hooks\/adapters\/|extensions\/view\/page\/)/.test(path)
  );
  assert.deepEqual(others, []);
  assert.ok(packed.length <= 1000, `${packed.length} files`);
  const { exports } = JSON.parse(readFileSync(join(project, "node_modules/crochet/package.json"), "utf8"));
  const named = Object.values<string | object>(exports).flatMap((to) =>
    typeof to === "string" ? [to] : Object.values(to)
  );
  const isPacked = (path: string) => packed.some((one) => matchesGlob(one, path.slice(2)));
  assert.deepEqual(named.filter((path) => !isPacked(path)), []);
  const ofSchemas = packed.flatMap((path) => /^dist\/schemas\/(.*)$/.exec(path)?.[1] ?? []);
  assert.deepEqual(ofSchemas.sort(), Object.keys(schemas).sort());
});

test("packing leaves package.json as it was", { skip }, () => {
  const copy = clone(join(made!.folder, "packing"));
  mkdirSync(join(copy, "dist"));
  const manifest = () => readFileSync(join(copy, "package.json"), "utf8");
  const before = manifest();
  run(copy, "bun", "run", ".ci/manifest.ts", "pack");
  const { scripts, devDependencies } = JSON.parse(manifest());
  assert.deepEqual([scripts, devDependencies], [undefined, undefined], "npm warns of scripts that a package brings");
  run(copy, "bun", "run", ".ci/manifest.ts", "restore");
  assert.equal(manifest(), before);
});

for (const { name, args, skip } of RUNTIMES) {
  test(`a first project runs on ${name}: model, tools, hooks and test doubles`, { skip }, () => {
    const out = runIn(made!.project, made!.only[name]!, name, ...args, "agent.ts");
    assert.deepEqual(JSON.parse(out), {
      stop: "done",
      text: "Hello from the model",
      answers: ["Denied by hook pre-tool-use@Read.secret.ts: it is secret", "HI"],
    });
  });

  test(`every part of the package can be imported on ${name}`, { skip }, () => {
    const script = `
      import { readFileSync } from "node:fs";
      const { exports } = JSON.parse(readFileSync("node_modules/crochet/package.json", "utf8"));
      for (const part of Object.keys(exports)) {
        // Runners load their own: see runners.more.test.ts.
        if (["./package.json", "./schemas/*.json", "./durable/restate", "./bun", "./vitest"].includes(part)) continue;
        const found = await import("crochet" + part.slice(1));
        if (Object.keys(found).length === 0 && part !== "./testing/preload") throw new Error(part);
      }
      console.log("all");
    `;
    writeFileSync(join(made!.project, "parts.mjs"), script);
    assert.equal(runIn(made!.project, made!.only[name]!, name, ...args, "parts.mjs"), "all\n");
  });

  test(`crochet finds ${name} where there is nothing else`, { skip }, () => {
    const crochet = (...words: string[]) =>
      runIn(made!.project, made!.only[name]!, "/bin/sh", "node_modules/.bin/crochet", ...words);
    assert.match(crochet("--version"), /^\d+\.\d+\.\d+\n$/);
    assert.match(crochet("tool", "Read", '{"file_path":"deno.json"}'), /nodeModulesDir/);
    assert.equal(crochet("run", "scripted.ts", "go"), "Hello from a script\n");
    assert.match(crochet("hooks", "ls"), /pre-tool-use@Read\.secret/);
    const told = JSON.stringify({
      session_id: "s",
      hook_event_name: "PreToolUse",
      tool_name: "Read",
      tool_input: { file_path: "secret.txt" },
      tool_use_id: "t",
    });
    const served = `printf %s '${told}' | node_modules/.bin/crochet hook hooks/pre-tool-use@Read.secret.ts`;
    const answer = JSON.parse(runIn(made!.project, made!.only[name]!, "/bin/sh", "-c", served));
    assert.equal(answer.hookSpecificOutput.permissionDecision, "deny");
  });

  test(`a run is recorded, replayed through the SDK and a recording proved by it on ${name}`, { skip }, () => {
    recordsAndImports(made!.project, name);
  });
}

for (const { name, skip } of RUNTIMES) {
  test(
    `crochet init makes a first project on ${name} that holds what it says, beside nothing`,
    { skip },
    () => {
      const { project, only } = made!;
      const here = `first-${name}`;
      const type = stranger(join(made!.folder, `home-${name}`), only[name]!, "http://127.0.0.1:9");
      const [cd, tests, check, ...rest] = nextLines(type(project, `node_modules/.bin/crochet init ${here}`));
      assert.deepEqual([cd, rest], [`cd ${here}`, []]);
      type(join(project, here), tests!);
      const crochet = (words: string) => type(join(project, here), `../node_modules/.bin/crochet ${words}`);
      assert.match(crochet("replay"), /fix-spelling +held/);
      assert.match(check!, / crochet hooks check hooks$|npm:crochet hooks check hooks$/);
      assert.match(crochet("hooks check hooks --runs 5"), /held: 1 hook/);
    },
  );
}

test("what an installed crochet builds denies on every runtime, and as a binary on none, with nothing beside it", {
  skip: noNode,
}, () => {
  using empty = scratch();
  const { project, only } = made!;
  const script = AGENT.replace("const { stop", "export default greeter;\nif (import.meta.main) {\nconst { stop");
  writeFileSync(join(project, "built.ts"), `${script}}\n`);
  const built = (out: string, ...flags: string[]) => {
    const words = ["build", "built.ts", "--out", join(empty.path, out), ...flags];
    assert.match(runIn(project, only.bun, "/bin/sh", "node_modules/.bin/crochet", ...words), /secret\.ts \(module\)/);
  };
  built("agent.mjs", "--target", "node");
  built("agent", "--compile");
  const denied = /"stop":"done".*it is secret/;
  for (const { name, args } of RUNTIMES) {
    assert.match(runIn(empty.path, only[name]!, name, ...args, "agent.mjs"), denied, name);
  }
  assert.match(runIn(empty.path, "", "./agent"), denied);
});

const noNode20 = skip || (made?.only.node20 === undefined && "Node 20 is neither here nor in the registry");
test("a first project runs on Node 20 from .mjs, by run() and replay()", { skip: noNode20 }, () => {
  const folder = join(made!.project, "plain");
  mkdirSync(join(folder, "hooks"), { recursive: true });
  writeFileSync(join(folder, "agent.mjs"), PLAIN.agent);
  writeFileSync(join(folder, "hooks/pre-tool-use@Read.secret.mjs"), PLAIN.hook);
  const out = runIn(folder, made!.only.node20!, "node", "agent.mjs");
  assert.deepEqual(JSON.parse(out), {
    stop: "done",
    text: "Hello from the model",
    answers: ["Denied by hook pre-tool-use@Read.secret.mjs: it is secret", "HI"],
  });
  cpSync(join(ROOT, "fixtures/hello"), join(folder, "fixtures/hello"), { recursive: true });
  writeFileSync(join(folder, "replay.mjs"), REPLAYED);
  assert.match(runIn(folder, made!.only.node20!, "node", "replay.mjs"), /^The run of 'hello' is not the recorded one:/);
});

test(
  "npm install -g . in a fresh clone makes a crochet that runs, without Bun or Deno on the PATH",
  { skip: noNode },
  () => {
    const { folder, only } = made!;
    const fresh = clone(join(folder, "fresh"));
    const prefix = join(folder, "prefix");
    const path = `${prefix}/bin:${only.node}:${npmFolder()}:/usr/bin:/bin`;
    // A cache of its own: npm finds a Bun that npx fetched before, and hides that it could not fetch one here.
    runIn(fresh, path, "npm", "install", "-g", ".", "--prefix", prefix, "--cache", join(folder, "cache"));
    const outside = join(folder, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "scripted.ts"), SCRIPTED);
    assert.equal(runIn(outside, path, "crochet", "run", "scripted.ts", "go"), "Hello from a script\n");
    const type = stranger(join(folder, "home-fresh"), path, run(folder, "npm", "config", "get", "registry").trim());
    const [cd, ...lines] = nextLines(type(outside, "crochet init mine"));
    const commands = lines.map((line) => line.split(" ").slice(0, 2).join(" "));
    assert.deepEqual([cd, ...commands], ["cd mine", "npm install", "npm test", "npx crochet"]);
    for (const line of lines) type(join(outside, "mine"), line);
  },
);

for (const { name, skip } of RUNTIMES) {
  test(`a script outside any project imports the package that runs it, on ${name}`, { skip }, () => {
    const outside = join(made!.folder, `outside-${name}`);
    mkdirSync(outside);
    writeFileSync(join(outside, "scripted.ts"), SCRIPTED);
    const crochet = join(made!.project, "node_modules/.bin/crochet");
    assert.equal(runIn(outside, made!.only[name]!, crochet, "run", "scripted.ts", "go"), "Hello from a script\n");
  });
}

/** A hook that imports a value, which only crochet itself can give it. */
const DENIES = `import { deny } from "crochet";
export default ({ input }) => /rm/.test(input.command) ? deny("not here") : undefined;
export const examples = [{ event: { tool_input: { command: "rm -rf /" } }, expect: "deny" }];
`;
const CALL = JSON.stringify({
  session_id: "s",
  hook_event_name: "PreToolUse",
  tool_name: "Bash",
  tool_input: { command: "rm -rf /" },
  tool_use_id: "t",
});
const FILE = "hooks/pre-tool-use@Bash.no.ts";
const OUTSIDE = [
  { line: `printf %s '${CALL}' | CROCHET hook ${FILE}`, expected: /"permissionDecision":"deny"/ },
  { line: `CROCHET hooks test ${FILE} --set tool_input.command=rm`, expected: /deny/ },
  { line: `CROCHET hooks check ${FILE} --runs 5 --trust`, expected: /held: 1 hook/ },
];
for (const { name, skip } of RUNTIMES.slice(0, 2)) {
  for (
    const [where, files] of Object.entries({
      "outside any project": {},
      "with only a package.json": { "package.json": "{}" },
    })
  ) {
    test(`a hook ${where} imports values of the crochet that runs it, on ${name}`, { skip }, () => {
      using folder = scratch({ ...files, [FILE]: DENIES });
      const crochet = join(made!.project, "node_modules/.bin/crochet");
      for (const { line, expected } of OUTSIDE) {
        const typed = line.replace("CROCHET", `HOME='${folder.path}' '${crochet}'`);
        assert.match(runIn(folder.path, made!.only[name]!, "sh", "-c", typed), expected, line);
      }
      // A project's own crochet wins.
      put(folder.path, {
        "node_modules/crochet/package.json": '{ "name": "crochet", "type": "module", "exports": "./own.js" }',
        "node_modules/crochet/own.js": 'export const deny = () => ({ action: "deny", reason: "its own crochet" });',
        "deno.json": '{ "nodeModulesDir": "manual" }',
      });
      const typed = OUTSIDE[0]!.line.replace("CROCHET", `'${crochet}'`);
      assert.match(runIn(folder.path, made!.only[name]!, "sh", "-c", typed), /its own crochet/);
    });
  }
}

const FIRST = {
  bun: "bunx crochet",
  deno: "deno run -A --quiet npm:crochet",
  node: "npx --yes crochet",
};
for (const { name, skip } of RUNTIMES) {
  test(
    `who has nothing but ${name} and a registry has a first project by typing what is said`,
    { skip },
    async () => {
      const { url, close } = await registryOf(made!);
      try {
        const folder = join(made!.folder, `stranger-${name}`);
        const path = name === "node" ? `${made!.only.node}:${npmFolder()}` : made!.only[name]!;
        const type = stranger(join(folder, "home"), path, url);
        const [cd, ...lines] = nextLines(type(folder, `${FIRST[name]} init mine`));
        assert.equal(cd, "cd mine");
        const mine = join(folder, "mine");
        for (const line of lines) type(mine, line);
        assert.match(type(mine, `${FIRST[name]} replay`), /fix-spelling +held/);
        // What another host is told to start begins there too, with all that it needs.
        for (const words of ["add guard", "install --for claude --scope local"]) {
          type(mine, `${FIRST[name]} hooks ${words}`);
        }
        const call = JSON.stringify({
          hook_event_name: "PreToolUse",
          session_id: "s",
          tool_use_id: "t",
          tool_name: "Bash",
          tool_input: { command: "rm -rf /" },
        });
        const guard = installedCommands(mine).find((command) => command.includes("guard.rules.yaml"));
        assert.match(type(mine, `printf %s '${call}' | ${guard}`), /"permissionDecision":"deny"/);
        assert.doesNotMatch(type(mine, `printf %s '${call}' | ${guard}`), /Cannot/);
      } finally {
        close();
      }
    },
  );
}

/** All that needs the SDK, without a key: a run over HTTP that is recorded, its replay on the wire, the proof of an import. */
function recordsAndImports(project: string, name: (typeof RUNTIMES)[number]["name"]): void {
  const crochet = (...words: string[]) =>
    runIn(project, made!.only[name]!, "/bin/sh", "node_modules/.bin/crochet", ...words);
  assert.match(crochet("record", "wired.ts", "go", "--fixture", name), /: done, 1 call/);
  assert.match(crochet("replay", name, "--wire"), / held +1\/1 /);
  const [{ calls }] = JSON.parse(crochet("fixtures", "import", "recorded.sse", "--out", `imported-${name}`, "--json"));
  assert.equal(calls, 1);
}

const WAYS = [
  ["npx", "--no-install", "crochet"],
  ["bunx", "--no-install", "crochet"],
  ["deno", "run", "-A", "--quiet", "npm:crochet"],
] as const;
for (const [command, ...args] of WAYS) {
  test(`${command} ${args.join(" ")} runs an agent`, { skip }, () => {
    const out = runIn(made!.project, process.env.PATH!, command, ...args, "run", "wired.ts", "go");
    assert.equal(out, "Hello over the wire\n");
  });
}

test(
  "a run reports its spans to the tracer that Deno itself registers",
  { skip },
  () => {
    const collecting = "OTEL_DENO=true OTEL_EXPORTER_OTLP_PROTOCOL=console";
    const command = `${collecting} node_modules/.bin/crochet run wired.ts go 2>&1`;
    const out = runIn(made!.project, made!.only.deno, "/bin/sh", "-c", command);
    assert.match(out, /SPAN chat claude-test [^]*scope: crochet[^]*SPAN invoke_agent wired /);
  },
);

test("the types of the package hold in a project that checks strictly", { skip }, () => {
  const options = { strict: true, noEmit: true, module: "nodenext", target: "es2024", skipLibCheck: true, types: [] };
  const check = (compilerOptions: object, include: string[]) => {
    writeFileSync(join(made!.project, "tsconfig.json"), JSON.stringify({ compilerOptions, include }));
    runIn(made!.project, process.env.PATH!, TSC, "-p", ".");
  };
  writeFileSync(join(made!.project, "check.ts"), AGENT.replaceAll("process.env", "({} as Record<string, string>)"));
  check(options, ["check.ts", "scripted.ts", "hooks"]);
  writeFileSync(join(made!.project, "check.ts"), 'import { agent } from "crochet";\nagent({ modell: "x" });\n');
  // Types are there, and say no.
  assert.throws(() => check(options, ["check.ts"]), (error: { stdout: string }) => /modell/.test(error.stdout));
  // Every declaration, too: none leans on a package that is not there.
  const every = { ...options, target: "esnext", skipLibCheck: false, types: [join(MODULES, "@types/node")] };
  const parts = ["", "/tools", "/testing", "/durable"];
  const lines = parts.map((part, i) => `export * as part${i} from "crochet${part}";\n`);
  writeFileSync(join(made!.project, "check.ts"), lines.join(""));
  check(every, ["check.ts"]);
});
