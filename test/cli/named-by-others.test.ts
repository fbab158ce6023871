import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CROCHET } from "../_crochet.ts";
import { scratch } from "../_scratch.ts";
import { NO_PTY, Pty } from "../_pty.ts";

/** Sets the title, asks the terminal to answer, hides what follows, turns it around, empties the screen, goes up. */
const NAME = "x\u001b]0;pwned\u0007\u001b[6n\u001b[8m\u202e\u009b2J\u001b[2J\u001b[5Ay";

/** What none of our lines has: all but colours. */
// deno-lint-ignore no-control-regex
const STEERING = /\u001b\]|\u001b\[[\d;?]*[^\dm;?K]|\u001b\[8m|[\u0007\u0080-\u009f\u202e]/;

test("names that a checkout gives to files, hooks, settings and recordings never steer the terminal", {
  skip: NO_PTY,
}, async () => {
  using folder = scratch();
  const cwd = join(folder.path, "checkout");
  for (const dir of ["hooks", `fixtures/${NAME}`, ".claude", ".crochet"]) {
    mkdirSync(join(cwd, dir), { recursive: true });
  }
  writeFileSync(join(cwd, `hooks/stop.${NAME}.sh`), "#!/bin/sh\n");
  writeFileSync(join(cwd, `hooks/${NAME}.ts`), "");
  writeFileSync(join(cwd, `fixtures/${NAME}/tape.jsonl`), NAME);
  const group = { matcher: NAME, hooks: [{ type: NAME, command: NAME }] };
  writeFileSync(join(cwd, ".claude/settings.json"), JSON.stringify({ hooks: { Stop: [group], [NAME]: [group] } }));
  writeFileSync(join(cwd, ".crochet/config.yaml"), `${JSON.stringify(NAME)}: 1\n`);
  const commands = [
    ["hooks"],
    ["hooks", "--json"],
    ["fixtures", "ls"],
    ["replay", "--trust"],
    ["run", "hi"],
    ["tool", "Glob", '{"pattern":"**/*"}'],
    ["hooks", "test", `hooks/stop.${NAME}.sh`],
    [NAME],
  ];
  for (const words of commands) {
    await using pty = new Pty([...CROCHET, ...words], { cwd, env: { HOME: folder.path } });
    await pty.end();
    assert.match(pty.raw, /pwned/, `${words[0]} names it`);
    assert.doesNotMatch(pty.raw, STEERING, words.slice(0, 2).join(" "));
  }
});
