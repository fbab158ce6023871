import { execFile } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { statsIn } from "../../files/kept-tree.ts";
import { removeTree, writeFiles } from "../../files/tree.ts";
import { toolHomes } from "../../process/programs.ts";

/** A file or folder that is copied into the scratch place before the hook is run. */
export interface Copy {
  readonly from: string;
  /** In the place: `project/scripts`, `home/.claude/hooks`. */
  readonly to: string;
}

/** A project with a home, where hooks run. */
export type Surroundings = Pick<ScratchFolders, "project" | "home" | "tmp">;

/** The folders of one scratch workspace. Everything a hook may write is under `root`. */
export interface ScratchFolders {
  readonly root: string;
  /** A git repository with a few files; hooks run in it. */
  readonly project: string;
  readonly home: string;
  readonly tmp: string;
  /** Mounted at /tmp in the sandbox: what is written here was meant for the machine. */
  readonly outside: string;
  /** Beside the root: long answers, which a host would keep in files. */
  readonly kept: string;
  /** The conversation so far, as hosts write it. */
  readonly transcript: string;
  /** A file that appears if a shell runs text of an event. */
  readonly canary: string;
}

const FILES: { readonly [path: string]: string } = {
  "README.md": "# Sample\n\nA project to try hooks in.\n",
  "package.json": '{\n  "name": "sample",\n  "private": true,\n  "type": "module"\n}\n',
  "src/app.ts": "export function greet(name: string): string {\n  return `Hello, ${name}`;\n}\n",
  "src/config.json": '{ "port": 8080 }\n',
  "test/app.test.ts":
    'import { greet } from "../src/app.ts";\n\nif (greet("you") !== "Hello, you") throw new Error("No");\n',
  "notes.txt": "nothing yet\n",
  ".gitignore": "node_modules\n.env\n",
};

/** A project with open work, in which Stop hooks find something to complain about. */
export const OPEN_WORK: { readonly [path: string]: string } = {
  "package.json":
    '{\n  "name": "sample",\n  "private": true,\n  "type": "module",\n  "scripts": { "test": "exit 1", "lint": "exit 1", "build": "exit 1", "typecheck": "exit 1" }\n}\n',
  "Makefile": "test lint check build:\n\t@exit 1\n",
  "src/app.ts":
    "// TODO: finish this\n// FIXME later\nexport function greet(name: any): string {\n  console.log(name); debugger;\n  return name;\n",
  "src/unfinished.py": "def broken(:\n    pass  # XXX\n    print('debug')\n",
  "TODO.md": "- [ ] write the tests\n- [ ] document it\n",
  "test/app.test.ts": "throw new Error('Not yet');\n",
  // The state files of two plugins that are often installed: a loop that is on, and a rule that blocks.
  ".claude/ralph-loop.local.md":
    '---\nactive: true\niteration: 1\nmax_iterations: 0\ncompletion_promise: "DONE"\nstarted_at: "2026-01-01T00:00:00Z"\n---\n\nImprove the project\n',
  ".claude/hookify.require-tests.local.md":
    "---\nname: require-tests\nenabled: true\nevent: stop\naction: block\nconditions:\n  - field: transcript\n    operator: not_contains\n    pattern: npm test|pytest|cargo test\n---\n\nRun the tests before you stop\n",
};

const CONVERSATION = [
  { role: "user", content: "Fix the failing test" },
  {
    role: "assistant",
    content: [
      { type: "text", text: "I will look." },
      { type: "tool_use", id: "toolu_0000", name: "Read", input: { file_path: "src/app.ts" } },
    ],
  },
  { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_0000", content: "export {};" }] },
  { role: "assistant", content: [{ type: "text", text: "I changed the parser and all is done." }] },
];

/** Writes a conversation as hosts do: hooks look into it. */
export function writeTranscript(
  { transcript, project }: ScratchFolders,
  messages: readonly { readonly role: string }[],
  sessionId: string,
): void {
  mkdirSync(dirname(transcript), { recursive: true });
  const lines = messages.map((message) => JSON.stringify({ type: message.role, sessionId, cwd: project, message }));
  writeFileSync(transcript, lines.map((line) => `${line}\n`).join(""));
}

/** The files of a new project with one commit. Git makes them once per process. */
let project: Promise<ReadonlyMap<string, Uint8Array>> | undefined;

async function committed(): Promise<ReadonlyMap<string, Uint8Array>> {
  const folder = mkdtempSync(join(tmpdir(), "crochet-repository-"));
  const by = { GIT_AUTHOR_NAME: "check", GIT_AUTHOR_EMAIL: "check@example.com", GIT_AUTHOR_DATE: "1767225600 +0000" };
  const same = Object.entries(by).map(([name, value]) => [name.replace("AUTHOR", "COMMITTER"), value]);
  const env = { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: "1", ...by, ...Object.fromEntries(same) };
  const line = "git -c init.defaultBranch=main init -q --template= && git add -A && git commit -q -m Begin";
  try {
    writeFiles(folder, Object.entries(FILES));
    // Without git the project is not a repository: a hook that needs one could not run here anyway.
    await new Promise((resolve) => execFile("/bin/sh", ["-c", line], { cwd: folder, env }, resolve));
    const paths = statsIn(folder).filter(([, stats]) => stats.isFile()).map(([path]) => path);
    return new Map(paths.map((path) => [path, readFileSync(join(folder, path))]));
  } finally {
    removeTree(folder);
  }
}

/** Folders of hosts, in which plugins keep their state and rules. */
const HOST_FOLDERS = [".claude", ".codex", ".gemini", ".agent"];

/** A folder with more than this is not copied. */
const MOST_FILES = 400;
const MOST_BYTES = 5_000_000;

/** Fills a place: a repository with one commit, the conversation so far, and what the hook brings. */
export async function fill(
  place: ScratchFolders,
  { project: own, copies = [] }: { readonly project?: string; readonly copies?: readonly Copy[] } = {},
): Promise<void> {
  writeFiles(place.project, await (project ??= committed()));
  writeFiles(place.project, [[".env", "PORT=8080\n"]]);
  mkdirSync(join(place.project, ".claude"), { recursive: true });
  writeTranscript(place, CONVERSATION, "check");
  const folders = own === undefined
    ? []
    : HOST_FOLDERS.map((name) => ({ from: join(own, name), to: `project/${name}` }));
  for (const { from, to } of [...folders, ...copies].filter(({ from }) => isSmall(from))) {
    const path = join(place.root, to);
    mkdirSync(dirname(path), { recursive: true });
    if (basename(from) === "node_modules") symlinkSync(from, path);
    else cpSync(from, path, { recursive: true, dereference: true });
  }
}

/** Whether a file or folder is there and small enough to copy; packages are linked. */
export function isSmall(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats?.isDirectory() || basename(path) === "node_modules") return stats !== undefined;
  const found = statsIn(path, MOST_FILES + 1);
  return found.length <= MOST_FILES && found.reduce((sum, [, { size }]) => sum + size, 0) <= MOST_BYTES;
}

/** Scratch workspaces of one check, removed with it. */
export class Scratch {
  readonly #root = realpathSync(mkdtempSync(join(tmpdir(), "crochet-check-")));
  #places = 0;

  place(): ScratchFolders {
    const root = join(this.#root, String(++this.#places));
    const here = join(root, "here");
    const inside = { project: join(here, "project"), home: join(here, "home"), tmp: join(here, "tmp") };
    const place: ScratchFolders = {
      ...inside,
      root: here,
      outside: join(here, "outside"),
      kept: join(root, "kept"),
      transcript: join(inside.home, ".claude", "projects", "project", "check.jsonl"),
      canary: join(here, "canary"),
    };
    for (const folder of [...Object.values(inside), place.outside, place.kept]) mkdirSync(folder, { recursive: true });
    return place;
  }

  close(): void {
    removeTree(this.#root);
  }

  static remove({ kept }: ScratchFolders): void {
    removeTree(join(kept, "..", ".."));
  }
}

/** Values that a hook must never show, under the usual names. Each check has its own. */
export function plantedSecrets(): { readonly [name: string]: string } {
  const part = () => crypto.randomUUID().replaceAll("-", "").slice(2);
  return {
    ANTHROPIC_API_KEY: `sk-ant-api03-${part()}`,
    OPENAI_API_KEY: `sk-proj-${part()}`,
    GITHUB_TOKEN: `ghp_${part()}`,
    AWS_SECRET_ACCESS_KEY: part(),
    DATABASE_URL: `postgres://app:${part()}@db.example.com/app`,
  };
}

/** The whole environment of a hook that is checked. */
export function checkedEnv(
  place: Surroundings,
  given: Readonly<Record<string, string | undefined>>,
  more: { readonly [name: string]: string },
): { readonly [name: string]: string } {
  const { PATH = "/usr/local/bin:/usr/bin:/bin", HOME = "", LANG = "C.UTF-8", USER = "check" } = given;
  return {
    ...{ PATH, LANG, USER, LOGNAME: USER, SHELL: "/bin/sh", TERM: "dumb", NO_COLOR: "1" },
    // There is no network: retries would only run into the time limit.
    ...{ npm_config_fetch_retries: "0", PIP_RETRIES: "0", UV_HTTP_RETRIES: "0" },
    ...toolHomes({ ...given, HOME }),
    ...{ HOME: place.home, TMPDIR: place.tmp, PWD: place.project, GIT_CONFIG_NOSYSTEM: "1" },
    ...{ CROCHET: "1", CLAUDECODE: "1", CLAUDE_PROJECT_DIR: place.project, CLAUDE_CODE_ENTRYPOINT: "crochet" },
    ...{ GEMINI_PROJECT_DIR: place.project, GEMINI_CWD: place.project },
    CLAUDE_ENV_FILE: join(place.tmp, "session-env.sh"),
    ...more,
  };
}
