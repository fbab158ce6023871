import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import init from "../../lib/extensions/setup/init.ts";
import { BUN, DENO } from "../../lib/extensions/setup/ci.ts";
import { shellWord } from "../../lib/core/shown.ts";
import { ownArgv } from "../../lib/hooks/own-command.ts";
import { runProcess } from "../../lib/process/process.ts";
import { type Place, place } from "../_place.ts";
import { put } from "../_scratch.ts";
import { agentScript, recorded } from "./_recorded.ts";

/** A program that writes down how it was called, and what it was given as the text of a comment. */
const CALLED = `#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
case "$*" in *--paginate*) cat "$COMMENTS" 2>/dev/null; esac
exit 0
`;

/** Runs the lines of a job one after the other, as its host does; what they print, and the exit codes. */
async function runLines(here: Place, lines: readonly string[], env: Record<string, string> = {}) {
  const bin = join(here.home, "bin");
  const ours = `#!/bin/sh\nexec ${ownArgv("cli/main").map(shellWord).join(" ")} "$@"\n`;
  for (const name of ["npm", "bun", "deno", "gh"]) {
    put(here.home, { [`bin/${name}`]: CALLED });
    chmodSync(join(here.home, "bin", name), 0o755);
  }
  here.put({ "node_modules/.bin/crochet": ours });
  chmodSync(join(here.cwd, "node_modules/.bin/crochet"), 0o755);
  const all = { ...process.env, HOME: here.home, PATH: `${bin}:${process.env.PATH}`, ...env };
  const codes: (number | null)[] = [];
  let out = "";
  for (const line of lines) {
    const args = ["-e", "-o", "pipefail", "-c", line];
    const ran = await runProcess({
      command: "bash",
      args,
      cwd: here.cwd,
      env: { ...all, CALLS: join(here.home, "calls") },
    });
    codes.push(ran.code);
    out += ran.stdout + ran.stderr;
  }
  return { codes, out, calls: readFileSync(join(here.home, "calls"), "utf8") };
}

const PACKAGE_JSON = '{ "devDependencies": { "crochet": "^0.3.0" } }';
const linesOf = (job: { steps: { run?: string }[] }) => job.steps.flatMap(({ run }) => run ?? []);

test(
  "the lines of the workflow for GitHub pass on a recorded project, and a drift fails them, annotated",
  async () => {
    using here = place({ "package.json": PACKAGE_JSON });
    await recorded(here);
    assert.equal((await here.call(init, "--ci", "github")).code, 0);
    const { jobs } = parse(readFileSync(join(here.cwd, ".github/workflows/crochet.yaml"), "utf8"));
    const action = { GITHUB_ACTIONS: "true", GITHUB_WORKSPACE: here.cwd };
    const passed = await runLines(here, linesOf(jobs.replay), action);
    assert.deepEqual(passed.codes, [0, 0, 0, 0], passed.out);
    const [gets, installs] = "Deno" in globalThis
      ? [`deno@${DENO}`, "deno install --frozen"]
      : [`bun@${BUN}`, "bun install --frozen-lockfile"];
    assert.equal(passed.calls, `npm install -g ${gets}\n${installs}\n`);
    for (const file of ["replay.xml", "hooks.xml"]) assert.ok(existsSync(join(here.cwd, file)), file);
    const summary = readFileSync(join(here.cwd, "summary.md"), "utf8");
    assert.match(summary, /^### crochet replay\n[^]*\n### crochet hooks check\n/);

    const [comment] = linesOf(jobs.comment) as [string];
    const env = { REPO: "a/b", NUMBER: "7", COMMENTS: join(here.home, "comments") };
    assert.match(
      (await runLines(here, [comment], env)).calls,
      /gh api --silent --method POST repos\/a\/b\/issues\/7\/comments/,
    );
    put(here.home, { comments: "42\n" });
    assert.match(
      (await runLines(here, [comment], env)).calls,
      /--method PATCH repos\/a\/b\/issues\/comments\/42 -F body=@comment\.md/,
    );
    assert.equal(readFileSync(join(here.cwd, "comment.md"), "utf8"), `<!-- crochet -->\n${summary}`);

    here.put({ "agent.ts": agentScript("You are rude.") });
    const drifted = await runLines(here, linesOf(jobs.replay).slice(2, 3), action);
    assert.deepEqual(drifted.codes, [1], drifted.out);
    assert.equal(drifted.out.match(/^::error file=agent\.ts,line=/gm)?.length, 1);
    assert.match(readFileSync(join(here.cwd, "replay.xml"), "utf8"), /<failure/);
    assert.match(
      readFileSync(join(here.cwd, "summary.md"), "utf8").slice(summary.length),
      /^### crochet replay\n[^]*prompt/,
    );
  },
);
