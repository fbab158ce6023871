import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type ScriptedReply, scriptedServer } from "../../lib/testing/index.ts";
import { inFolder } from "../tape/_stage.ts";
import { agentScript, crochet, HOOK, put, RUN, SYSTEM } from "./_recorded.ts";

const MAIN = 'import { default as self } from "./agent.ts";\nif (import.meta.main) await self.main();\n';

/** Runs the agent's own script with a tape that the environment names. */
async function run(folder: string, mode: string, replies: readonly ScriptedReply[], env = {}) {
  await using server = await scriptedServer(replies);
  const [command, ...before] = RUN.slice(0, -1);
  const { CI: _, ...rest } = process.env;
  return await new Promise<{ code: number; out: string; err: string }>((resolve, reject) => {
    const child = spawn(command!, [...before, join(folder, "agent.ts"), "look"], {
      cwd: folder,
      env: {
        ...rest,
        CROCHET_TAPE: "fixtures/x",
        CROCHET_TAPE_MODE: mode,
        ANTHROPIC_BASE_URL: server.url,
        ANTHROPIC_API_KEY: "not-a-key",
        ...env,
      },
    });
    let [out, err] = ["", ""];
    child.stdout.on("data", (data) => out += data);
    child.stderr.on("data", (data) => err += data);
    child.on("error", reject).on("close", (code) => resolve({ code: code ?? 1, out, err }));
  });
}

const LOOK: ScriptedReply = { tools: [{ name: "Read", input: { file_path: "tea.md" } }] };
const BREW: ScriptedReply = { tools: [{ name: "Bash", input: { command: "echo brewed > cup.md" } }] };

test("a tape that the environment renews always has the workspace it was renewed in, as it was before", async () => {
  await inFolder(async (folder) => {
    const kept = (path: string) => {
      const file = join(folder, "fixtures/x/files", path);
      return existsSync(file) ? readFileSync(file, "utf8") : undefined;
    };
    put(folder, {
      "agent.ts": `${agentScript(SYSTEM)}${MAIN}`,
      "hooks/stop.ts": HOOK,
      "tea.md": "green\n",
      "old.md": "old\n",
    });
    const first = await run(folder, "record", [LOOK, BREW, { text: "green it is" }]);
    assert.deepEqual([first.code, first.out], [0, "green it is\n"], first.err);
    assert.deepEqual(["tea.md", "old.md", "cup.md"].map(kept), ["green\n", "old\n", undefined]);

    rmSync(join(folder, "old.md"));
    put(folder, { "tea.md": "black\n", "new.md": "new\n" });
    const failed = await run(folder, "update", []);
    assert.notEqual(failed.code, 0, "nothing answers");
    assert.deepEqual(["tea.md", "old.md"].map(kept), ["green\n", "old\n"], "what was not renewed is as it was");

    const renewed = await run(folder, "update", [{ text: "black it is" }]);
    assert.deepEqual([renewed.code, renewed.out], [0, "black it is\n"], renewed.err);
    assert.deepEqual(["tea.md", "old.md", "new.md"].map(kept), ["black\n", undefined, "new\n"]);
    const { out, code } = await crochet(folder, ["replay"], { CI: "true" });
    assert.equal(code, 0, out);
    assert.match(out, /x +ok +2\/2/);
  });
});

test("a recording by the environment that came to nothing leaves no files for the next", async () => {
  await inFolder(async (folder) => {
    put(folder, { "agent.ts": `${agentScript(SYSTEM)}${MAIN}`, "hooks/stop.ts": HOOK, "tea.md": "green\n" });
    const shown = await run(folder, "record", [{ text: "it is correct-horse-battery" }], {
      MY_TOKEN: "correct-horse-battery",
    });
    assert.match(shown.err, /Cannot write tape .* shows the value of the environment variable MY_TOKEN/);
    assert.equal(existsSync(join(folder, "fixtures/x/files")), false);
    put(folder, { "tea.md": "black\n" });
    assert.equal((await run(folder, "record", [{ text: "hello" }])).code, 0);
    assert.equal(readFileSync(join(folder, "fixtures/x/files/tea.md"), "utf8"), "black\n");
  });
});
