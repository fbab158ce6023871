import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { install, type Installed, runIn } from "./_install.ts";

const TSC = fileURLToPath(new URL("../../node_modules/.bin/tsc", import.meta.url));
const LONG = { timeout: 180_000 };

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

/** Everything a first project does: a tool of its own and one of ours, hooks in a folder, a call over HTTP, a test double. */
const AGENT = `
import { agent, tool } from "crochet";
import { Read } from "crochet/tools";
import { scriptedServer } from "crochet/testing";

const server = await scriptedServer([
  { tools: [{ name: "Read", input: { file_path: "secret.txt" } }, { name: "Shout", input: { text: "hi" } }] },
  { text: "Hello from the model" },
]);
process.env.ANTHROPIC_BASE_URL = server.url;
process.env.ANTHROPIC_API_KEY = "none";
const shout = tool({
  name: "Shout",
  description: "Says it louder",
  input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  run: ({ text }: { text: string }) => text.toUpperCase(),
});
const greeter = agent({ from: import.meta.url, model: "claude-test", tools: [Read, shout], hooks: "./hooks" });
const { stop, text, messages } = await greeter.run("Greet me");
const answers = messages[2]!.content.map((block) => "content" in block ? block.content : "");
console.log(JSON.stringify({ stop, text, answers }));
await server.close();
`;

const HOOK = `
import { deny, type PreToolUseHook } from "crochet";

export default (({ input }, { cwd }) =>
  cwd !== "" && String(input.file_path).includes("secret") ? deny("it is secret") : undefined) satisfies PreToolUseHook;
`;

const SCRIPTED = `
import { agent } from "crochet";
import { scripted } from "crochet/testing";

export default agent({ model: scripted([{ text: "Hello from a script" }]) });
`;

if (made) {
  mkdirSync(join(made.project, "hooks"));
  writeFileSync(join(made.project, "agent.ts"), AGENT);
  writeFileSync(join(made.project, "scripted.ts"), SCRIPTED);
  writeFileSync(join(made.project, "hooks/pre-tool-use@Read.secret.ts"), HOOK);
  writeFileSync(join(made.project, "deno.json"), '{ "nodeModulesDir": "manual" }');
}

const noNode = skip || (made?.only.node === undefined && "there is no Node new enough, here or in the registry");
const RUNTIMES = [
  { name: "bun", args: ["run"], skip },
  { name: "deno", args: ["run", "-A", "--quiet"], skip },
  { name: "node", args: [], skip: noNode },
] as const;

test("the package holds the sources, what was built of them, and nothing that only we need", { skip, ...LONG }, () => {
  const { packed } = made!;
  const folders = new Set(packed.map((path) => path.split("/")[0]!));
  assert.deepEqual([...folders].sort(), ["LICENSE", "README.md", "dist", "hooks", "lib", "package.json"]);
  const missing = packed.filter((path) => /^lib\/.*\.ts$/.test(path)).filter((path) => {
    const built = path.replace(/^lib/, "dist").replace(/\.ts$/, "");
    return !["js", "js.map", "d.ts"].every((ending) => packed.includes(`${built}.${ending}`));
  });
  assert.deepEqual(missing, []);
  const assets = packed.filter((path) => /^lib\/.*\.(css|js|html)$/.test(path));
  assert.deepEqual(assets.filter((path) => !packed.includes(path.replace(/^lib/, "dist"))), []);
});

for (const { name, args, skip } of RUNTIMES) {
  test(`a first project runs on ${name}: model, tools, hooks and test doubles`, { skip, ...LONG }, () => {
    const out = runIn(made!.project, made!.only[name]!, name, ...args, "agent.ts");
    assert.deepEqual(JSON.parse(out), {
      stop: "done",
      text: "Hello from the model",
      answers: ["Denied by hook pre-tool-use@Read.secret.ts: it is secret", "HI"],
    });
  });

  test(`every part of the package can be imported on ${name}`, { skip, ...LONG }, () => {
    const script = `
      import { readFileSync } from "node:fs";
      const { exports } = JSON.parse(readFileSync("node_modules/crochet/package.json", "utf8"));
      for (const part of Object.keys(exports)) {
        if (part === "./package.json" || part === "./durable/restate") continue;
        const found = await import("crochet" + part.slice(1));
        if (Object.keys(found).length === 0) throw new Error(part);
      }
      console.log("all");
    `;
    writeFileSync(join(made!.project, "parts.mjs"), script);
    assert.equal(runIn(made!.project, made!.only[name]!, name, ...args, "parts.mjs"), "all\n");
  });

  test(`crochet finds ${name} where there is nothing else`, { skip, ...LONG }, () => {
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
}

const WAYS = [
  ["npx", "--no-install", "crochet"],
  ["bunx", "--no-install", "crochet"],
  ["deno", "run", "-A", "--quiet", "npm:crochet"],
] as const;
for (const [command, ...args] of WAYS) {
  test(`${command} ${args.join(" ")} runs an agent`, { skip, ...LONG }, () => {
    const out = runIn(made!.project, process.env.PATH!, command, ...args, "run", "scripted.ts", "go");
    assert.equal(out, "Hello from a script\n");
  });
}

test("the types of the package hold in a project that checks strictly", { skip, ...LONG }, () => {
  const options = { strict: true, noEmit: true, module: "nodenext", target: "es2024", skipLibCheck: true, types: [] };
  writeFileSync(join(made!.project, "check.ts"), AGENT.replaceAll("process.env", "({} as Record<string, string>)"));
  writeFileSync(
    join(made!.project, "tsconfig.json"),
    JSON.stringify({ compilerOptions: options, include: ["check.ts", "scripted.ts", "hooks"] }),
  );
  runIn(made!.project, process.env.PATH!, TSC, "-p", ".");
  writeFileSync(join(made!.project, "check.ts"), 'import { agent } from "crochet";\nagent({ modell: "x" });\n');
  assert.throws(() => runIn(made!.project, process.env.PATH!, TSC, "-p", "."), "types are there, and say no");
});
