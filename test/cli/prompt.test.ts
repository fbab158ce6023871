/** Where a prompt comes from: the words of a command line, the script among them, and what is piped in. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { rows } from "../_counts.ts";
import { CROCHET, ended, type Exit } from "../_crochet.ts";
import { type Place, place } from "../_place.ts";
import { LIB, OUR_RUNTIME } from "../_runtime.ts";

/** An agent that answers with the prompt it was given. */
const ECHO = `
import { agent } from "${LIB}/index.ts";
async function* echo({ messages }) {
  const text = messages[0].content.map((block) => block.text ?? block.type + " " + block.source.media_type).join("|");
  yield { type: "message_start", message: {} };
  yield { type: "content_block_start", index: 0, content_block: { type: "text", text: text.length > 99 ? text.length + " characters" : text } };
  yield { type: "content_block_stop", index: 0 };
  yield { type: "message_delta", delta: { stop_reason: "end_turn" } };
  yield { type: "message_stop" };
}
const made = agent({ from: import.meta.url, model: echo });
export default made;
if (import.meta.main) await made.main();
`;

const given = (here: Place, stdin?: string | null) => ({
  cwd: here.cwd,
  env: { HOME: here.home },
  ...(stdin !== undefined && { stdin }),
});

/** Both ways to run the agent, which take the same words and the same stdin. */
const WAYS: readonly [name: string, run: (here: Place, words: string[], stdin?: string) => Promise<Exit>][] = [
  ["crochet run agent.ts", (here, words, stdin) => here.main(["run", "agent.ts", ...words], {}, stdin)],
  [".main()", (here, words, stdin) => ended([...OUR_RUNTIME, "agent.ts", ...words], given(here, stdin))],
];

for (const [name, run] of WAYS) {
  test(`${name}: what is piped in follows the words of the prompt, and - means only what is piped in`, async () => {
    using here = place({ "agent.ts": ECHO });
    const said = async (words: string[], stdin?: string) => {
      const { code, out, err } = await run(here, words, stdin);
      assert.deepEqual([code, err], [0, ""]);
      return out;
    };
    assert.equal(await said(["explain", "this"], "a log\nof two lines\n"), "explain this\n\na log\nof two lines\n");
    assert.equal(await said(["explain"]), "explain\n");
    assert.equal(await said(["-"], "only this\n"), "only this\n");
    if (name === ".main()") return; // which reads it by the same code
    assert.equal(await said([], "only this\n"), "only this\n");
    assert.equal(await said(["explain"], "x".repeat(10 * 1024 * 1024 - 1)), `${10 * 1024 * 1024 - 1 + 9} characters\n`);
  });

  test(`${name}: over 10 MB on stdin is a usage error that says what to do instead`, async () => {
    using here = place({ "agent.ts": ECHO });
    const { code, out, err } = await run(here, ["explain"], "x".repeat(10 * 1024 * 1024 + 1));
    const why = "it is over 10 MB: save it as a file and ask the agent to read the file";
    assert.deepEqual([code, out, err], [2, "", `crochet: Cannot read stdin as ${why}\n`]);
  });
}

const STARTS: readonly [name: string, ...words: [string, ...string[]]][] = [
  ["crochet run agent.ts", ...CROCHET, "run"],
  [".main()", ...OUR_RUNTIME],
];

for (const [name, ...words] of rows(1, STARTS)) {
  test(`${name}: a pipe that sends nothing is left after 3 s, with a line on stderr`, async () => {
    using here = place({ "agent.ts": ECHO });
    const { code, out, err } = await ended([...words, "agent.ts", "explain"], given(here, null));
    assert.deepEqual([code, out], [0, "explain\n"]);
    assert.match(err, /^crochet: stdin is open but sent nothing for 3 s, so it is not part of the prompt: .*\n$/);
  });
}

test("a script without a prompt prints its own usage and exits 2; --help prints the same and exits 0", async () => {
  using here = place({ "agent.ts": ECHO });
  const { code, out, err } = await ended([...OUR_RUNTIME, "agent.ts"], given(here));
  assert.deepEqual([code, out], [2, ""]);
  assert.match(
    err,
    /^(bun run|deno run -A) agent\.ts <prompt…>\n\n {2}Runs the agent 'agent'\. [^]*--model <name>[^]*\n {2}\1 agent\.ts "say hello"\n$/,
  );
  const help = await ended([...OUR_RUNTIME, "agent.ts", "--help"], given(here));
  assert.deepEqual([help.code, help.out, help.err], [0, err, ""]);
});

const DASHES = "put -- before a prompt that begins with such a name";

test("run, chat and record refuse a script that is not there and name the nearest one; -- makes it a prompt", async () => {
  using here = place({ "fixer.ts": ECHO, "other.mjs": "" });
  for (const command of ["run", "chat", "record"]) {
    const { code, out, err } = await here.main([command, "fixr.ts", "do it"]);
    const fix = command === "record" ? "let a prompt begin with another word" : DASHES;
    const hint = `did you mean 'fixer.ts'?: ${fix}`;
    assert.deepEqual([code, out, err], [2, "", `crochet: Cannot find script 'fixr.ts', ${hint}\n`]);
  }
  const { err } = await here.main(["run", "agents/fixr.ts", "do it"]);
  assert.match(err, /Cannot find script 'agents\/fixr\.ts': put/);
  const model = { ANTHROPIC_BASE_URL: "http://127.0.0.1:9", ANTHROPIC_API_KEY: "none" };
  for (
    const words of [["--", "fixr.ts", "is gone"], ["--max-iterations", "1", "--", "fixr.ts"], ["what is in fixr.ts"]]
  ) {
    assert.match((await here.main(["run", ...words], model)).err, /could not be reached/);
  }
});

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "base64",
);

const ATTACHED: readonly [prompt: string, said: RegExp, code: number][] = [
  [
    "what is in @shot.png and @paper.pdf?",
    /^image image\/png\|document application\/pdf\|what is in @shot\.png and @paper\.pdf\?\n$/,
    0,
  ],
  ["read @notes.txt, ask me@shot.png", /^read @notes\.txt, ask me@shot\.png\n$/, 0],
  ["see @gone.png", /Cannot attach @gone\.png: /, 2],
  ["see @notes.png", /Cannot attach @notes\.png: it is neither an image nor a PDF/, 2],
];

for (const [prompt, said, code] of ATTACHED) {
  test(`@ before the name of an image or a PDF attaches it: ${prompt}`, async () => {
    using here = place({
      "agent.ts": ECHO,
      "notes.txt": "text",
      "notes.png": "text",
      "paper.pdf": "%PDF-1.4\n%%EOF\n",
    });
    writeFileSync(join(here.cwd, "shot.png"), PNG);
    const { code: exit, out, err } = await here.main(["run", "agent.ts", prompt]);
    assert.match(code === 0 ? out : err, said);
    assert.equal(exit, code);
  });
}
