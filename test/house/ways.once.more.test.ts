import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { scratch } from "../_scratch.ts";
import { LIB, ROOT } from "../_runtime.ts";

/** The functions that a script calls, by the module of lib they are in. What a module does when it is loaded does not count. */
function called(folder: string, script: string): Map<string, Set<string>> {
  writeFileSync(join(folder, "way.ts"), script);
  const env = {
    ...process.env,
    DENO_DIR: process.env.DENO_DIR ?? join(ROOT, "node_modules/.cache/deno"),
    HOME: folder,
  };
  const flags = ["-A", "--no-check", "--quiet", `--config=${join(ROOT, "deno.json")}`, `--coverage=${folder}/coverage`];
  const options = { cwd: folder, encoding: "utf8", timeout: 300_000, env } as const;
  const { stdout, stderr, status } = spawnSync("deno", ["run", ...flags, "way.ts"], options);
  assert.deepEqual([stdout.trim().split("\n").at(-1), status], ["as meant", 0], stdout + stderr);
  const found = new Map<string, Set<string>>();
  for (const name of readdirSync(join(folder, "coverage")).filter((name) => name.endsWith(".json"))) {
    const { url, functions } = JSON.parse(readFileSync(join(folder, "coverage", name), "utf8")) as Covered;
    if (!url.startsWith(`file://${LIB}`)) continue;
    const names = functions.filter(({ functionName, ranges: [{ count, startOffset }] }) =>
      count > 0 && !(functionName === "" && startOffset === 0)
    ).map(({ functionName, ranges: [{ startOffset }] }) => `${functionName}@${startOffset}`);
    if (names.length > 0) found.set(relative(LIB, fileURLToPath(url)), new Set(names));
  }
  return found;
}

interface Covered {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly [{ readonly count: number; readonly startOffset: number }];
  }[];
}

/** The modules with a function that only the first of two runs calls; `whole`: of which the other run calls nothing. */
function only(having: ReturnType<typeof called>, lacking: ReturnType<typeof called>, whole = false): string[] {
  const isNew = ([file, names]: [string, Set<string>]) =>
    whole ? !lacking.has(file) : [...names].some((name) => !lacking.get(file)?.has(name));
  // The scripted model is that of the measurement.
  return [...having].filter(isNew).map(([file]) => file).filter((file) => file !== "models/scripted.ts").sort();
}

/** A run of an agent whose model calls Edit, or only speaks; with one hook in its folder, or none. */
function agentRun(calls: string, hook: readonly [name: string, text: string] | undefined, text: string) {
  using folder = scratch({ "a.txt": "Helo\n", ...(hook && { [`hooks/${hook[0]}`]: hook[1] }) });
  return called(
    folder.path,
    `import { agent } from "crochet";
import { Edit } from "crochet/tools";
import { scripted } from "crochet/testing";
import { readFileSync } from "node:fs";
const model = scripted([${calls}{ text: "Done" }]);
const hooks = ${hook ? "`${process.cwd()}/hooks`" : "[]"};
const { stop } = await agent({ model, tools: [Edit], hooks, permissions: { mode: "acceptEdits" } }).run("Fix it");
console.log(stop === "done" && readFileSync("a.txt", "utf8") === "${text}\\n" ? "as meant" : stop);
`,
  );
}

const EDIT = `{ tools: [{ name: "Edit", input: { file_path: "a.txt", old_string: "Helo", new_string: "Hello" } }] }, `;

test("a prompt never passes more than 31 modules until a file is edited, a hook never more than 10, or 15 if it is a command", () => {
  const edits = agentRun(EDIT, undefined, "Hello");
  const way = only(edits, agentRun("", undefined, "Helo"));
  assert.ok(way.includes("tools/edit.ts") && way.length <= 31, `${way.length}: ${way.join(" ")}`);
  const module = `export default () => ({ action: "deny", reason: "no" });\n`;
  const inModule = only(agentRun(EDIT, ["pre-tool-use@Edit.no.ts", module], "Helo"), edits, true);
  assert.ok(inModule.includes("hooks/module-hook.ts") && inModule.length <= 10, inModule.join(" "));
  const inCommand = only(agentRun(EDIT, ["pre-tool-use@Edit.no.sh", "#!/bin/sh\nexit 2\n"], "Helo"), edits, true);
  assert.ok(inCommand.includes("hooks/command-hook.ts") && inCommand.length <= 15, inCommand.join(" "));
});

test("a request that drifted never passes more than 20 modules until it is reported", () => {
  const replayed = (system: string, expected: string) => {
    using folder = scratch();
    cpSync(join(ROOT, "fixtures/keep-going"), join(folder.path, "fixtures/keep-going"), { recursive: true });
    const script = join(folder.path, "fixtures/keep-going/agent.ts");
    writeFileSync(script, readFileSync(script, "utf8").replace("You fix small things", system));
    return called(
      folder.path,
      `import { replay } from "crochet/testing";
import fixer from "./fixtures/keep-going/agent.ts";
const came = await replay(fixer, "keep-going").then(({ stop }) => stop, (error) => error.name);
console.log(came === "${expected}" ? "as meant" : came);
`,
    );
  };
  const way = only(replayed("You fix little things", "ReplayError"), replayed("You fix small things", "done"));
  assert.ok(way.includes("replay/drift/difference.ts") && way.length <= 20, `${way.length}: ${way.join(" ")}`);
});
