import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ended } from "../../_crochet.ts";
import { OUR_RUNTIME, ROOT } from "../../_runtime.ts";
import { put } from "../../_scratch.ts";
import { chatApi, installed, messagesApi, type ModelServer } from "../../hooks/_real-hosts.ts";

const FOLDER = join(process.env.CROCHET_TEST_HOSTS ?? join(tmpdir(), "crochet-test-hosts"), "sdk");

const PACKAGES = [
  "@anthropic-ai/claude-agent-sdk@0.3.326",
  ...["ai@6.0.326", "@ai-sdk/openai-compatible@2.0.87"],
  ...["@openai/agents@0.20.0", "zod@4.6.7"],
];

const HOOKS = {
  "hooks/pre-tool-use@Bash.10-guard.ts":
    `export default ({ input }) => /^rm/.test(input.command) ? { action: "deny", reason: "REFUSED-BY-GUARD" } : undefined;`,
  "hooks/pre-tool-use@Bash.20-rewrite.ts":
    `export default ({ input }) => input.command === "echo as written" ? { action: "modify", value: { ...input, command: "echo RE''WRITTEN" } } : undefined;`,
  "hooks/post-tool-use@Bash.note.ts": `export default () => ({ action: "continue", context: "NOTED-AFTER" });`,
};
const PROMPT = {
  "hooks/user-prompt-submit.branch.ts": `export default () => ({ action: "continue", context: "ON-BRANCH-MAIN" });`,
};

/** The programs are those that docs/own-loop.md shows. */
const SDKS: [program: string, model: () => Promise<ModelServer>, prompts: boolean][] = [
  ["claude-agent", messagesApi, true],
  ["ai-sdk", () => chatApi("Bash"), true],
  ["openai-agents", () => chatApi("Bash"), false],
];

/** Settings of a project that imports `crochet/hosts` as it is here. */
const TSCONFIG = {
  extends: join(ROOT, "tsconfig.json"),
  compilerOptions: {
    paths: { "crochet/hosts": [join(ROOT, "lib/extensions/sdks/index.ts")] },
    typeRoots: [join(ROOT, "node_modules")],
    // As their own documents show it.
    exactOptionalPropertyTypes: false,
  },
  include: ["*.ts"],
};

const SKIP = !process.env.CROCHET_TEST_LONG
  ? { skip: "real SDKs run in test:long" }
  : "Deno" in globalThis
  ? { skip: "the SDKs are the same under both runtimes" }
  : {};

for (const [program, model, prompts] of SDKS) {
  test(`${program} takes a folder of hooks: it type-checks, and hooks refuse, rewrite and add`, SKIP, async (t) => {
    if (installed(FOLDER, PACKAGES, "ai/package.json") === undefined) return t.skip("npm cannot install the SDKs");
    const page = readFileSync(join(ROOT, "docs/own-loop.md"), "utf8");
    const text = new RegExp(`^\\/\\/ ${program}\\.mjs\\n([^]*?)^\`\`\`$`, "m").exec(page)![1]!;
    // Below the packages, where its imports are found.
    const cwd = join(FOLDER, `try-${program}`);
    put(cwd, {
      ...{ ...HOOKS, ...(prompts && PROMPT) },
      ...{ "build/kept.txt": "", "tsconfig.json": JSON.stringify(TSCONFIG), "program.ts": text },
    });
    const types = await ended([join(ROOT, "node_modules/.bin/tsc"), "-p", "."], { cwd });
    assert.equal(types.code, 0, types.out);
    await using server = await model();
    const { url } = server;
    const env = {
      HOME: cwd,
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "k",
      OPENAI_BASE_URL: url,
      OPENAI_API_KEY: "k",
    };
    const { code, out, err } = await ended([...OUR_RUNTIME, "program.ts"], { cwd, env });
    const shown = `${out}\n${err}\n${server.asked().slice(-3000)}`;
    assert.equal(code, 0, shown);
    assert.ok(existsSync(join(cwd, "build/kept.txt")), shown);
    for (const words of ["REFUSED-BY-GUARD", "REWRITTEN", "NOTED-AFTER", ...(prompts ? ["ON-BRANCH-MAIN"] : [])]) {
      assert.ok(server.asked().includes(words), `${words}\n${shown}`);
    }
    assert.match(out, /done/, shown);
  });
}
