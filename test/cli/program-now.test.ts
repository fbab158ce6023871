import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type ScriptedReply, scriptedServer } from "../../lib/testing/index.ts";
import { type Place, place } from "../_place.ts";
import { asked, LONG } from "./_recorded.ts";

const LIB = fileURLToPath(new URL("../../lib", import.meta.url));
const AGENT = `
import { agent } from "${LIB}/index.ts";
import { Agent, Read } from "${LIB}/tools/index.ts";
export default agent({ from: import.meta.url, system: "You lead.", memory: true, tools: [Agent, Read] });
`;
const READER = (description: string, system: string) => `---\ndescription: ${description}\n---\n${system}\n`;
const STARTS = { name: "Agent", input: { description: "Read", prompt: "Read it", subagent_type: "reader" } };
const REPLIES: ScriptedReply[] = [{ tools: [STARTS] }, { text: "one" }, { text: "done" }];
const FILES = { "AGENTS.md": "Be brief.\n", "agents/reader.md": READER("Reads", "You read."), "a.txt": "one\n" };

async function recorded(here: Place, ...args: string[]): Promise<void> {
  await using server = await scriptedServer(REPLIES);
  const { code, err } = await here.crochet(["record", "agent.ts", "go", "--fixture", "x", ...args], asked(server));
  assert.deepEqual([code, err], [0, ""]);
}

/** What a replay says after each change of the project; its workspace is as it was recorded. */
const CHANGES: readonly [what: string, files: Record<string, string>, said: RegExp | undefined][] = [
  ["nothing", {}, undefined],
  ["what the agent works on", { "a.txt": "two\n" }, undefined],
  [
    "memory",
    { "AGENTS.md": "Be long.\n" },
    /prompt: system, memory AGENTS\.md, is not .*\n.*\n +- Be brief\.\n +\+ Be long\./,
  ],
  ["more memory", { "CLAUDE.md": "Be kind.\n" }, /system, memory CLAUDE\.md, is not what was recorded/],
  [
    "an agent's text",
    { "agents/reader.md": READER("Reads", "You skim.") },
    /system, agent reader, is not .*\n +- You read\.\n/,
  ],
  [
    "an agent's use",
    { "agents/reader.md": READER("Skims", "You read.") },
    /tools\.0\.description, of tool Agent, is not/,
  ],
  [
    "a new agent",
    { "agents/writer.md": READER("Writes", "You write.") },
    /tools\.0\.description, of tool Agent, is not/,
  ],
];

test("a replay has the memory and the agents of the project as it is now, and names what changed", LONG, async () => {
  using here = place({ "agent.ts": AGENT, ...FILES });
  await recorded(here);
  for (const [what, files, said] of CHANGES) {
    here.put(files);
    const { code, out } = await here.crochet(["replay"]);
    assert.equal(code, said === undefined ? 0 : 1, `${what}: ${out}`);
    if (said) assert.match(out, said, what);
    for (const name of Object.keys(files)) rmSync(join(here.cwd, name));
    here.put(FILES);
  }
  for (const name of ["AGENTS.md", "agents"]) rmSync(join(here.cwd, name), { recursive: true });
  const without = await here.crochet(["replay"]);
  assert.equal(without.code, 0, `what the project does not have is as recorded: ${without.out}`);
});

test("a run that was recorded in a folder of the project has the memory of that folder", LONG, async () => {
  using here = place({ "agent.ts": AGENT, "AGENTS.md": "Be loud.\n" });
  here.put(Object.fromEntries(Object.entries(FILES).map(([name, text]) => [`sub/${name}`, text])));
  await recorded(here, "--cwd", "sub");
  const header = JSON.parse(readFileSync(join(here.cwd, "fixtures/x/tape.jsonl"), "utf8").split("\n")[0]!);
  assert.equal(header.project, "../../sub");
  assert.equal((await here.crochet(["replay"])).code, 0);
  here.put({ "sub/AGENTS.md": "Be long.\n" });
  assert.match((await here.crochet(["replay"])).out, /memory AGENTS\.md[^]*\+ Be long\./);
});
