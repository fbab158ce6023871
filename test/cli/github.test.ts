import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Annotation } from "../../lib/cli/kit/github.ts";
import hooks from "../../lib/cli/hooks.ts";
import init from "../../lib/extensions/setup/init.ts";
import { BUN, DENO } from "../../lib/extensions/setup/ci.ts";
import { crochetVersion } from "../../lib/runtime/version.ts";
import type { Io } from "../../lib/cli/kit/io.ts";
import { judgingCommand } from "../../lib/cli/kit/judge.ts";
import replay from "../../lib/cli/replay.ts";
import { parse } from "yaml";
import { place } from "../_place.ts";
import { agentScript, recorded } from "./_recorded.ts";

/** What a step prints, and its summary. */
async function step(
  work: (io: Io, point: (annotation: Annotation) => void) => Promise<number>,
  { isData = false, actions = "true" } = {},
) {
  using here = place({ "src/agent.ts": "one\ntwo, at 100%\n" });
  const summary = join(here.home, "summary.md");
  let [out, err] = ["", ""];
  const io: Io = {
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    tty: false,
    env: { GITHUB_ACTIONS: actions, GITHUB_STEP_SUMMARY: summary, GITHUB_WORKSPACE: here.cwd },
    cwd: join(here.cwd, "src"),
    signal: new AbortController().signal,
  };
  const usage = { name: "replay", words: "", about: "", flags: [], example: "" } as const;
  const command = judgingCommand(usage, "step", async (_, io, judge) => {
    const points: Annotation[] = [];
    const code = await work(io, (annotation) => points.push(annotation));
    judge.settle({ name: "step", word: code === 0 ? "held" : "broken", points });
  });
  const code = await command(isData ? ["--json"] : [], io);
  return { out, err, code, summary: existsSync(summary) ? readFileSync(summary, "utf8") : undefined };
}

test("what a step prints is never a command of GitHub, and its annotations come after it, at their lines", async () => {
  const { out, code } = await step((io, point) => {
    io.out("::error::from a tape\n");
    point({ file: "agent.ts", at: "two", title: "a, b: c", message: "50%\nof it" });
    point({ file: "agent.ts", at: "three", title: "t", message: "m" });
    return Promise.resolve(1);
  });
  assert.equal(code, 1);
  const [, token] = /^::stop-commands::(.+)$/m.exec(out)!;
  assert.equal(
    out,
    `::stop-commands::${token}\n::error::from a tape\n::${token}::\n` +
      "::error file=src/agent.ts,line=2,title=a%2C b%3A c::50%25%0Aof it\n" +
      "::error file=src/agent.ts,title=t::m\n",
  );
});

test("commands of GitHub work again after a step that throws, and ten annotations are the most", async () => {
  const { out } = await step((_, point) => {
    for (let i = 0; i < 30; i++) point({ file: "agent.ts", title: `${i}`, message: "m" });
    return Promise.resolve(1);
  });
  assert.equal(out.match(/^::error /gm)?.length, 10);
  const thrown = await step(() => Promise.reject(new Error("no")));
  assert.match(thrown.out, /^::stop-commands::(.+)\n::\1::\n$/);
  assert.deepEqual([thrown.code, thrown.err], [2, "crochet: no\n"]);
});

test("the summary has what was printed, in a fence it cannot close, cut before GitHub drops it", async () => {
  const { summary } = await step((io) => {
    io.out("\u001b[31mred\u001b[0m\n```\nfence\n");
    return Promise.resolve(0);
  });
  assert.equal(summary, "### crochet replay\n\n````\nred\n```\nfence\n````\n\n");
  const long = await step((io) => {
    for (let i = 0; i < 40; i++) io.out("ä".repeat(50_000));
    return Promise.resolve(0);
  });
  assert.ok(new TextEncoder().encode(long.summary).length < 2 ** 20);
  assert.match(long.summary!, /… cut: the log of the step has the rest/);
});

test("data is printed alone, and elsewhere nothing is added", async () => {
  for (const how of [{ isData: true }, { actions: "" }]) {
    const { out, summary } = await step((io) => {
      io.out("{}\n");
      return Promise.resolve(0);
    }, how);
    const data = '{"word":"held","planned":0,"items":[{"name":"step","word":"held"}]}\n';
    assert.deepEqual([out, summary], [how.isData ? data : "{}\n", undefined]);
  }
});

test("hooks check --trust annotates the hooks of a project that are at fault", async () => {
  using here = place({ "hooks/pre-tool-use@Bash.ts": 'export default () => { throw new Error("no"); };\n' });
  Object.assign(here.env, { GITHUB_ACTIONS: "true" });
  const { out, code } = await here.call(hooks, "check", "--trust", "--runs", "3", "--seed", "1");
  assert.equal(code, 1);
  assert.match(out, /^::error file=hooks\/pre-tool-use@Bash\.ts,title=fails\.\w+::/m);
});

test("a replay annotates the line of the script whose words changed", async () => {
  using here = place();
  await recorded(here);
  const script = `// a line before it\n${agentScript("You are rude.")}`;
  here.put({ "agent.ts": script });
  const line = script.split("\n").findIndex((text) => text.includes("You are rude.")) + 1;
  const { out, code } = await here.main(["replay", "--trust"], { GITHUB_ACTIONS: "true" });
  assert.equal(code, 1);
  assert.match(
    out,
    new RegExp(`^::error file=agent\\.ts,line=${line},title=fix-the-typo is not as recorded::prompt:`, "m"),
  );
});

const PACKAGE_JSON = '{ "devDependencies": { "crochet": "^0.3.0" } }';
const linesOf = (job: { steps: { run?: string }[] }) => job.steps.flatMap(({ run }) => run ?? []);

const HOOK_FILE = { "hooks/stop.ts": "export default () => undefined;\n" };

const TESTED = '{ "scripts": { "test": "vitest" }, "dependencies": { "crochet": "^0.3.0" } }';
const OWN = "./node_modules/.bin/crochet";
/** The files of a project beside package.json → what its jobs run: installing, crochet, tests. */
const JOBS: readonly [files: Readonly<Record<string, string>>, ...lines: readonly string[]][] = [
  [{}, `npm install -g bun@${BUN}`, "bun install --frozen-lockfile", OWN, "bun run test"],
  [{ "bun.lock": "" }, `npm install -g bun@${BUN}`, "bun install --frozen-lockfile", OWN, "bun run test"],
  [{ "package-lock.json": "{}" }, `npm install -g bun@${BUN}`, "npm ci", OWN, "npm test"],
  [
    { "pnpm-lock.yaml": "" },
    `npm install -g bun@${BUN} && corepack enable`,
    "pnpm install --frozen-lockfile",
    OWN,
    "pnpm test",
  ],
  [
    { "yarn.lock": "" },
    `npm install -g bun@${BUN} && corepack enable`,
    "yarn install --frozen-lockfile",
    OWN,
    "yarn test",
  ],
  [
    { "deno.lock": "{}", "vendor/crochet/package.json": "{}" },
    `npm install -g deno@${DENO}`,
    "deno install --frozen",
    `deno run -A npm:crochet@${crochetVersion()}`,
    "deno task test",
  ],
];

// Where there is no lock file, the jobs are of the runtime that wrote them.
for (const [files, gets, install, crochet, tests] of "Deno" in globalThis ? JOBS.slice(1) : JOBS) {
  test(`jobs of a project with ${Object.keys(files)[0] ?? "no lock file"} install by '${install}' and run its tests`, async () => {
    for (const hooked of [true, false]) {
      using here = place({ "package.json": TESTED, ...files, ...hooked && HOOK_FILE });
      const { code, out } = await here.call(init, "--ci", "github");
      assert.equal(code, 0);
      assert.equal(/^! commit the (?:bun|deno)\.lock/m.test(out), Object.keys(files).length === 0);
      assert.equal(/^! no job checks hooks/m.test(out), !hooked);
      const { jobs } = parse(readFileSync(join(here.cwd, ".github/workflows/crochet.yaml"), "utf8"));
      const check = `${crochet} hooks check --trust --junit hooks.xml --summary summary.md`;
      const replays = `${crochet} replay --trust --junit replay.xml --summary summary.md`;
      assert.deepEqual(linesOf(jobs.replay), [gets, install, replays, ...hooked ? [check] : [], tests]);
      assert.deepEqual(linesOf(jobs.eval).slice(0, 2), [gets, install]);
    }
  });
}

test("jobs run no tests where package.json has no script for them, which is said", async () => {
  for (const scripts of ["", '"scripts": { "test": "echo \\"Error: no test specified\\" && exit 1" }, ']) {
    using here = place({ "package.json": PACKAGE_JSON.replace("{ ", `{ ${scripts}`) });
    assert.match(
      (await here.call(init, "--ci", "github")).out,
      /^! no job runs tests, as package\.json has no script/m,
    );
    const { jobs } = parse(readFileSync(join(here.cwd, ".github/workflows/crochet.yaml"), "utf8"));
    assert.ok(linesOf(jobs.replay).every((line) => !/test/.test(line)));
  }
});

test("workflows let no job write but the one that runs nothing, and put no name of a branch into a line", async () => {
  using here = place({ "package.json": PACKAGE_JSON });
  const made = await here.call(init, "--ci", "github");
  assert.match(
    made.out,
    /^\+ \.github\/workflows\/crochet\.yaml\n! add the secret ANTHROPIC_API_KEY .*\n[^]*! commit the (?:bun|deno)\.lock/,
  );
  const { permissions, jobs } = parse(readFileSync(join(here.cwd, ".github/workflows/crochet.yaml"), "utf8"));
  assert.deepEqual(permissions, {});
  for (const [name, job] of Object.entries<{ permissions: object; steps: Record<string, unknown>[] }>(jobs)) {
    const uses = job.steps.flatMap((step) => step.uses ?? []) as string[];
    assert.ok(uses.every((action) => action.startsWith("actions/")), `${name} uses only GitHub's own actions`);
    assert.deepEqual(job.permissions, name === "comment" ? { "pull-requests": "write" } : { contents: "read" });
    assert.equal(uses.some((action) => action.includes("checkout")), name !== "comment");
    for (const { run = "", env = {}, uses, with: given } of job.steps as Record<string, string>[]) {
      // What is in ${{ }} is put into the line before the shell reads it.
      assert.doesNotMatch(run, /\$\{\{|bunx|npx/);
      assert.equal(JSON.stringify(env).includes("ANTHROPIC_API_KEY"), / eval /.test(run));
      if (uses?.includes("checkout")) {
        assert.equal((given as unknown as Record<string, unknown>)["persist-credentials"], false);
      }
    }
  }
  assert.match(linesOf(jobs.eval).at(-1)!, /crochet eval .*--budget 5/);
  assert.ok(!existsSync(join(here.cwd, "agent.ts")), "nothing else is written");
});

test("init --ci refuses a host it does not know, a file that is there, and a project without crochet", async () => {
  using here = place({ "package.json": PACKAGE_JSON });
  assert.equal((await here.call(init, "--ci", "github")).code, 0);
  for (const [ci, words] of [["github", /as it exists/], ["jenkins", /'jenkins': expected github/]] as const) {
    const { code, err } = await here.call(init, "--ci", ci);
    assert.deepEqual([code, words.test(err)], [2, true], err);
  }
  here.put({ "package.json": "{}" });
  const without = await here.call(init, "--ci", "github");
  assert.deepEqual([without.code, /names no dependency 'crochet'/.test(without.err)], [2, true]);
  const { devDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
  assert.deepEqual([BUN, DENO], [devDependencies.bun, devDependencies.deno]);
});

test("--summary is written outside GitHub too, and refused where it cannot be", async () => {
  using here = place();
  const { code, out } = await here.call(replay, "--summary", "s.md");
  assert.equal(code, 2, "nothing is replayed");
  assert.doesNotMatch(out, /::stop-commands/);
  assert.equal(
    readFileSync(join(here.cwd, "s.md"), "utf8"),
    `### crochet replay\n\n\`\`\`\n${out.trimEnd()}\n\`\`\`\n\n`,
  );
  for (const args of [["--summary", "no/s.md"], ["--summary", "s.md", "--json"]]) {
    assert.equal((await here.call(replay, ...args)).code, 2, args.join(" "));
  }
});
