import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isObject, parsed } from "../../core/json.ts";
import { UsageError } from "../_io.ts";

/** The Bun that jobs install. */
export const BUN = "1.4.4";

const INSTALL = [`npm install -g bun@${BUN}`, "bun install --frozen-lockfile"] as const;
// Never 'bunx crochet': without an install that would run what anyone has published under the name.
const CROCHET = "./node_modules/.bin/crochet";
const REPLAY = `${CROCHET} replay --trust --junit replay.xml --summary summary.md`;
const CHECK = `${CROCHET} hooks check --trust --junit hooks.xml --summary summary.md`;
const EVAL =
  `${CROCHET} eval --trust --runs 10 --budget 5 --junit eval.xml --summary summary.md \${BASE:+--against "origin/$BASE"}`;

/** For GitHub Actions. Pull requests of forks get no secret, so their label evaluates nothing, and no comment. */
const GITHUB = `name: crochet
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
      - run: ${INSTALL[0]}
      - run: ${INSTALL[1]}
      - run: ${REPLAY} # fails too if no fixture was replayed
      - run: ${CHECK}
        if: always()
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
      - run: ${INSTALL[0]}
      - run: ${INSTALL[1]}
      - run: ${EVAL}
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

const GITLAB = `.crochet:
  image: node:24
  interruptible: true
  timeout: 20 minutes
  before_script:
    - ${INSTALL[0]}
    - ${INSTALL[1]}
  artifacts:
    when: always
    paths: [summary.md]
    reports:
      junit: "*.xml"

crochet-replay:
  extends: .crochet
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
  script:
    - ${REPLAY} # fails too if no fixture was replayed

crochet-hooks:
  extends: .crochet
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
  script:
    - ${CHECK}

# Live runs cost money: by a schedule, and by hand for merge requests.
crochet-eval:
  extends: .crochet
  timeout: 60 minutes
  rules:
    - if: $CI_PIPELINE_SOURCE == "schedule"
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
      when: manual
      allow_failure: true
  variables:
    GIT_DEPTH: "0"
    BASE: $CI_MERGE_REQUEST_TARGET_BRANCH_NAME
  script:
    - ${EVAL}
`;

/** What is written for a host, and what is left for a person to do. */
interface Workflow {
  readonly path: string;
  readonly text: string;
  readonly next: string;
  /** Another file that is written if it is not there. */
  readonly beside?: readonly [path: string, text: string];
}

const GITLAB_PATH = ".gitlab/crochet.gitlab-ci.yml";

const WORKFLOWS: { readonly [host: string]: Workflow } = {
  github: {
    path: ".github/workflows/crochet.yaml",
    text: GITHUB,
    next: "add the secret ANTHROPIC_API_KEY to the repository for evals, and see their --budget in the file",
  },
  gitlab: {
    path: GITLAB_PATH,
    text: GITLAB,
    next: "add the masked variable ANTHROPIC_API_KEY to the project for evals, and see their --budget in the file",
    beside: [".gitlab-ci.yml", `include:\n  - local: ${GITLAB_PATH}\n`],
  },
};

/**
 * Writes a workflow that replays and checks every change, and evaluates at night and when asked.
 *
 * @throws {UsageError} where the jobs could not find crochet, or the file is there
 */
export function writeWorkflow(dir: string, ci: string | boolean, writeNew: (path: string, text: string) => boolean) {
  const host = typeof ci === "string" && Object.hasOwn(WORKFLOWS, ci) ? WORKFLOWS[ci] : undefined;
  if (!host) throw new UsageError(`Cannot write a workflow for '${ci}': expected ${Object.keys(WORKFLOWS).join(", ")}`);
  const { path, text, next, beside } = host;
  if (!isDependency(dir)) {
    throw new UsageError(
      `Cannot write ${path} as package.json names no dependency 'crochet', which its jobs run: add it first`,
    );
  }
  if (!writeNew(join(dir, path), text)) {
    throw new UsageError(`Cannot write ${path} as it exists: delete it to have it written anew`);
  }
  const isNew = beside && writeNew(join(dir, beside[0]), beside[1]);
  const notes = [
    next,
    ...beside && !isNew ? [`add to ${beside[0]}: include: { local: ${path} }`] : [],
    ...existsSync(join(dir, "bun.lock"))
      ? []
      : ["commit the bun.lock that 'bun install' writes: jobs install what it says"],
  ];
  const written = [path, ...isNew ? [beside[0]] : []];
  return {
    data: { dir, written, kept: [], notes },
    text: `${[...written.map((file) => `+ ${file}`), ...notes.map((note) => `! ${note}`)].join("\n")}\n`,
  };
}

function isDependency(dir: string): boolean {
  const file = join(dir, "package.json");
  const given = existsSync(file) ? parsed(readFileSync(file, "utf8")) : undefined;
  if (!isObject(given)) return false;
  const { dependencies, devDependencies } = given as Record<string, unknown>;
  return [dependencies, devDependencies].some((list) => isObject(list) && Object.hasOwn(list, "crochet"));
}
