import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import type { Place } from "./probe.ts";
import { randomHex } from "./_random-hex.ts";
import { repositoryOf } from "./_repository.ts";
import { standInsOf } from "./stand-ins.ts";

/** What a small project looks like. */
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

/** A project in the state in which hooks that ask for order find something to complain of. */
export const MESS: { readonly [path: string]: string } = {
  "package.json":
    '{\n  "name": "sample",\n  "private": true,\n  "type": "module",\n  "scripts": { "test": "exit 1", "lint": "exit 1", "build": "exit 1", "typecheck": "exit 1" }\n}\n',
  "Makefile": "test lint check build:\n\t@exit 1\n",
  "src/app.ts":
    "// TODO: finish this\n// FIXME later\nexport function greet(name: any): string {\n  console.log(name); debugger;\n  return name;\n",
  "src/unfinished.py": "def broken(:\n    pass  # XXX\n    print('debug')\n",
  // A loop that is on, as the plugins that loop note it.
  ".claude/ralph-loop.local.md":
    '---\nactive: true\niteration: 1\nmax_iterations: 0\ncompletion_promise: "DONE"\nstarted_at: "2026-01-01T00:00:00Z"\n---\n\nImprove the project\n',
  "TODO.md": "- [ ] write the tests\n- [ ] document it\n",
  "test/app.test.ts": "throw new Error('Not yet');\n",
};

/** What was said before the event, as hosts write it down. */
const CONVERSATION = [
  { type: "user", sessionId: "check", message: { role: "user", content: "Fix the failing test" } },
  {
    type: "assistant",
    sessionId: "check",
    message: {
      role: "assistant",
      content: [
        { type: "text", text: "I will look." },
        { type: "tool_use", id: "toolu_0000", name: "Read", input: { file_path: "src/app.ts" } },
      ],
    },
  },
  {
    type: "user",
    sessionId: "check",
    message: { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_0000", content: "export {};" }] },
  },
  {
    type: "assistant",
    sessionId: "check",
    message: { role: "assistant", content: [{ type: "text", text: "I changed the parser and all is done." }] },
  },
];

/** What lies in each place, by its path there; made once. */
let contents: Promise<ReadonlyMap<string, string | Uint8Array>> | undefined;

async function contentsOfPlace(): Promise<ReadonlyMap<string, string | Uint8Array>> {
  const repository = await repositoryOf(FILES);
  return new Map<string, string | Uint8Array>([
    ...Object.entries(FILES).map(([path, text]) => [`project/${path}`, text] as const),
    ...[...repository].map(([path, bytes]) => [`project/.git/${path}`, bytes] as const),
    ["project/.env", "PORT=8080\n"],
    ["home/.claude/projects/project/check.jsonl", CONVERSATION.map((line) => `${JSON.stringify(line)}\n`).join("")],
  ]);
}

/** Fills a place: a repository with one commit, and the conversation so far. */
export async function fill({ root }: Place): Promise<void> {
  const files = await (contents ??= contentsOfPlace());
  // Where the host keeps its own: hooks count on the folder being there.
  const folders = new Set(["project/.claude", ...[...files.keys()].map((path) => dirname(path))]);
  for (const folder of folders) mkdirSync(join(root, folder), { recursive: true });
  for (const [path, bytes] of files) writeFileSync(join(root, path), bytes);
}

/** Scratch workspaces of one check, removed with it. */
export class Scratch {
  readonly #root = realpathSync(mkdtempSync(join(tmpdir(), "crochet-check-")));
  #places = 0;

  /** The folders of a new place, with nothing in them yet: a process can be started there. */
  place(): Place {
    const root = join(this.#root, String(++this.#places));
    const here = join(root, "here");
    const place: Place = {
      root: here,
      project: join(here, "project"),
      home: join(here, "home"),
      tmp: join(here, "tmp"),
      outside: join(here, "outside"),
      kept: join(root, "kept"),
      transcript: join(here, "home", ".claude", "projects", "project", "check.jsonl"),
      canary: join(here, "canary"),
    };
    for (const folder of [place.project, place.home, place.tmp, place.outside, place.kept]) {
      mkdirSync(folder, { recursive: true });
    }
    return place;
  }

  close(): void {
    rmSync(this.#root, { recursive: true, force: true });
  }
}

/** Values no hook should ever show, under names as they are used. Each check has its own. */
export function plantedSecrets(): { readonly [name: string]: string } {
  const part = () => randomHex(15);
  return {
    ANTHROPIC_API_KEY: `sk-ant-api03-${part()}`,
    OPENAI_API_KEY: `sk-proj-${part()}`,
    GITHUB_TOKEN: `ghp_${part()}`,
    AWS_SECRET_ACCESS_KEY: part(),
    DATABASE_URL: `postgres://app:${part()}@db.example.com/app`,
  };
}

/** Where tools that live in a home are found, though the home is another one. */
const HOMES: { readonly [name: string]: string } = {
  PYENV_ROOT: ".pyenv",
  RBENV_ROOT: ".rbenv",
  NVM_DIR: ".nvm",
  VOLTA_HOME: ".volta",
  ASDF_DATA_DIR: ".asdf",
  CARGO_HOME: ".cargo",
  RUSTUP_HOME: ".rustup",
  DENO_DIR: ".cache/deno",
};

/** The whole environment of a hook that is checked. */
export function hookEnv(
  place: Place,
  given: Readonly<Record<string, string | undefined>>,
  more: { readonly [name: string]: string },
): { readonly [name: string]: string } {
  const { PATH = "/usr/local/bin:/usr/bin:/bin", HOME = "", LANG = "C.UTF-8", USER = "check" } = given;
  const homes = Object.entries(HOMES).map(([name, folder]) => [name, given[name] ?? join(HOME, folder)]);
  return {
    PATH: `${PATH}${delimiter}${standInsOf(place)}`,
    LANG,
    USER,
    LOGNAME: USER,
    SHELL: "/bin/sh",
    TERM: "dumb",
    NO_COLOR: "1",
    // Where there is no network, to try again takes longer than a hook has.
    npm_config_fetch_retries: "0",
    PIP_RETRIES: "0",
    UV_HTTP_RETRIES: "0",
    ...Object.fromEntries(homes),
    HOME: place.home,
    TMPDIR: place.tmp,
    PWD: place.project,
    GIT_CONFIG_NOSYSTEM: "1",
    CROCHET: "1",
    CLAUDECODE: "1",
    CLAUDE_PROJECT_DIR: place.project,
    CLAUDE_CODE_ENTRYPOINT: "crochet",
    CLAUDE_ENV_FILE: join(place.tmp, "session-env.sh"),
    GEMINI_PROJECT_DIR: place.project,
    GEMINI_CWD: place.project,
    ...more,
  };
}
