import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type JsonObject, objectOf, parsed } from "../../core/json.ts";
import { type Io, UsageError } from "../../cli/kit/io.ts";
import { standings } from "../../hooks/hook-trust.ts";
import { crochetVersion } from "../../runtime/version.ts";
import { FOLDER } from "./supply.ts";

export const BUN = "1.4.4";
export const DENO = "2.9.5";

const GET_BUN = `npm install -g bun@${BUN}`;
const GET_BOTH = `${GET_BUN} && corepack enable`;
const FROZEN = "install --frozen-lockfile";

/** Jobs install what a lock file says: the first that is there, or without any that of the runtime in whose hands the project is. */
const INSTALLERS = {
  bun: { locks: ["bun.lock", "bun.lockb"], gets: GET_BUN, install: `bun ${FROZEN}`, test: "bun run test" },
  node: { locks: ["package-lock.json", "npm-shrinkwrap.json"], gets: GET_BUN, install: "npm ci", test: "npm test" },
  pnpm: { locks: ["pnpm-lock.yaml"], gets: GET_BOTH, install: `pnpm ${FROZEN}`, test: "pnpm test" },
  yarn: { locks: ["yarn.lock"], gets: GET_BOTH, install: `yarn ${FROZEN}`, test: "yarn test" },
  deno: {
    ...{ locks: ["deno.lock"], gets: `npm install -g deno@${DENO}` },
    ...{ install: "deno install --frozen", test: "deno task test" },
  },
};

/** For GitHub Actions. Pull requests of forks get no secret, so their label evaluates nothing, and no comment. */
const github = ({ install, test, replay, check, evaluate }: ReturnType<typeof linesFor>["lines"]) =>
  `name: crochet
on:
  pull_request:
    types: [opened, synchronize, reopened, labeled]
  schedule:
    - cron: "0 3 * * *"
permissions: {}
concurrency:
  group: crochet-\${{ github.ref }}-\${{ github.event.action }}
  cancel-in-progress: true
jobs:
  replay:
    if: github.event_name == 'pull_request' && github.event.action != 'labeled'
    runs-on: ubuntu-latest
    timeout-minutes: 20
    permissions:
      contents: read
    steps:
      - uses: actions/checkout@v5
        with:
          persist-credentials: false
${install.map((line) => `      - run: ${line}\n`).join("")}\
      - run: ${replay} # fails too if no fixture was replayed
${[check, test].map((line) => line === undefined ? "" : `      - run: ${line}\n        if: always()\n`).join("")}\
      - uses: actions/upload-artifact@v5
        if: always()
        with:
          name: crochet
          path: |
            *.xml
            summary.md
  # Checks nothing out and runs nothing of the pull request: it may write.
  comment:
    needs: replay
    if: >-
      always() && needs.replay.result != 'skipped' &&
      github.event.pull_request.head.repo.full_name == github.repository
    runs-on: ubuntu-latest
    timeout-minutes: 5
    permissions:
      pull-requests: write
    steps:
      - uses: actions/download-artifact@v6
        with:
          name: crochet
      - run: |
          marker='<!-- crochet -->'
          { echo "$marker"; head -c 60000 summary.md; } > comment.md
          own=".[] | select(.user.login == \\"github-actions[bot]\\" and (.body | startswith(\\"$marker\\"))) | .id"
          id=$(gh api --paginate "repos/$REPO/issues/$NUMBER/comments" --jq "$own" | head -n 1)
          if [ -n "$id" ]; then
            gh api --silent --method PATCH "repos/$REPO/issues/comments/$id" -F body=@comment.md
          else
            gh api --silent --method POST "repos/$REPO/issues/$NUMBER/comments" -F body=@comment.md
          fi
        env:
          GH_TOKEN: \${{ github.token }}
          REPO: \${{ github.repository }}
          NUMBER: \${{ github.event.pull_request.number }}
  # Live runs cost money: each night, and for pull requests with the label 'eval'.
  eval:
    if: github.event_name == 'schedule' || github.event.label.name == 'eval'
    runs-on: ubuntu-latest
    timeout-minutes: 60
    permissions:
      contents: read
    steps:
      - uses: actions/checkout@v5
        with:
          fetch-depth: 0
          persist-credentials: false
${install.map((line) => `      - run: ${line}\n`).join("")}\
      - run: ${evaluate}
        env:
          BASE: \${{ github.base_ref }}
          ANTHROPIC_API_KEY: \${{ secrets.ANTHROPIC_API_KEY }}
      - uses: actions/upload-artifact@v5
        if: always()
        with:
          name: crochet-eval
          path: |
            *.xml
            summary.md
`;

const PATH = ".github/workflows/crochet.yaml";

const NEXT = "add the secret ANTHROPIC_API_KEY to the repository for evals, and see their --budget in the file";

/** @throws {UsageError} if there is no such host */
export function expectHost(ci: string | boolean): void {
  if (ci !== "github") throw new UsageError(`Cannot write a workflow for '${ci}': expected github`);
}

/** What the jobs of a project run, a line each, and what is left for a person to do. */
function linesFor(dir: string, env: Io["env"], runtime: keyof typeof INSTALLERS) {
  const isThere = (file: string) => existsSync(join(dir, file));
  const found = Object.values(INSTALLERS).find(({ locks }) => locks.some(isThere));
  const { gets, install, test, locks } = found ?? INSTALLERS[runtime];
  // Never 'bunx crochet': without an install that would run what anyone has published under the name.
  const crochet = install === INSTALLERS.deno.install && isThere(FOLDER)
    ? `deno run -A npm:crochet@${crochetVersion()}`
    : "./node_modules/.bin/crochet";
  const { scripts } = jsonIn(dir, "package.json");
  const { tasks } = install === INSTALLERS.deno.install ? jsonIn(dir, "deno.json") : {} as JsonObject;
  const tested = [scripts, tasks].map((all) => objectOf(all).test).find((line) => line !== undefined);
  const hasTests = tested !== undefined && !String(tested).includes("no test specified");
  const hasHooks = standings(dir, env).some(({ thing }) => ![".crochet/config.yaml", ".mcp.json"].includes(thing));
  const reports = (name: string) => `--trust --junit ${name}.xml --summary summary.md`;
  return {
    lines: {
      install: [gets, install],
      test: hasTests ? test : undefined,
      replay: `${crochet} replay ${reports("replay")}`,
      check: hasHooks ? `${crochet} hooks check ${reports("hooks")}` : undefined,
      evaluate: `${crochet} eval --trust --runs 10 --budget 5 --junit eval.xml --summary summary.md ` +
        '${BASE:+--against "origin/$BASE"}',
    },
    notes: [
      !hasTests && "no job runs tests, as package.json has no script 'test': add it, and have this written anew",
      !hasHooks && "no job checks hooks, as there are none: have this written anew once there are",
      !found && `commit the ${locks[0]} that '${install.split(" ", 1)[0]} install' writes: jobs install what it says`,
    ].filter((note) => note !== false),
  };
}

/** Writes the workflow. @throws {UsageError} where the jobs could not find crochet, or the file is there */
export function writeWorkflow(
  dir: string,
  { env, runtime }: { readonly env: Io["env"]; readonly runtime: keyof typeof INSTALLERS },
  writeNew: (path: string, text: string) => boolean,
) {
  const { dependencies, devDependencies } = jsonIn(dir, "package.json");
  if (![dependencies, devDependencies].some((list) => Object.hasOwn(objectOf(list), "crochet"))) {
    throw new UsageError(
      `Cannot write ${PATH} as package.json names no dependency 'crochet', which its jobs run: add it first`,
    );
  }
  const { lines, notes: left } = linesFor(dir, env, runtime);
  if (!writeNew(join(dir, PATH), github(lines))) {
    throw new UsageError(`Cannot write ${PATH} as it exists: delete it to have it written anew`);
  }
  return { written: [PATH], notes: [NEXT, ...left] };
}

function jsonIn(dir: string, name: string): JsonObject {
  const file = join(dir, name);
  return objectOf(existsSync(file) && parsed(readFileSync(file, "utf8")));
}
