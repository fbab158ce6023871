import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { after } from "node:test";
import type { DriftReport } from "../../../lib/replay/drift/drift-report.ts";
import { CROCHET, ended } from "../../_crochet.ts";
import { scratch } from "../../_scratch.ts";
import { removeTree } from "../../../lib/files/tree.ts";

/** Tests of real clients install them. */
export const CLIENT_TEST = {
  skip: process.env.CROCHET_TEST_LONG !== "1" && "installs programs: CROCHET_TEST_LONG=1 runs it",
  timeout: 600_000,
};
const isAlone = spawnSync("unshare", ["-rn", "ip", "link", "set", "lo", "up"]).status === 0;

/** Each client is installed once, into a folder that goes at the end. */
const installed = new Map<string, ReturnType<typeof scratch> | undefined>();
after(() => installed.forEach((folder) => folder?.[Symbol.dispose]()));

/** The folder of some packages; undefined if they cannot be installed here. */
export function packagesOf(install: string): string | undefined {
  if (process.env.CROCHET_TEST_CLIENTS) return process.env.CROCHET_TEST_CLIENTS;
  if (!installed.has(install)) {
    const folder = scratch({ "package.json": "{}" });
    const words = ["install", "--no-audit", "--no-fund", ...install.split(" ")];
    installed.set(install, spawnSync("npm", words, { cwd: folder.path }).status === 0 ? folder : undefined);
  }
  return installed.get(install)?.path;
}

/** A home, not among the temporary files: Gemini CLI reads no settings below a folder that others may write to. */
export function clientHome(): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(homedir(), ".crochet-test-"));
  return { path, [Symbol.dispose]: () => removeTree(path) };
}

/** What a client needs to ask the APIs at an address. */
export function clientEnv(packages: string, home: string, url: string) {
  return {
    PATH: `${join(packages, "node_modules", ".bin")}${delimiter}${process.env.PATH}`,
    HOME: home,
    SHELL: "/bin/bash",
    PACKAGES: packages,
    ANTHROPIC_BASE_URL: url,
    OPENAI_BASE_URL: `${url}/v1`,
    GOOGLE_GEMINI_BASE_URL: url,
    ...Object.fromEntries(["ANTHROPIC", "OPENAI", "CODEX", "GEMINI"].map((of) => [`${of}_API_KEY`, "dummy-key"])),
  };
}

/** Replays the fixture `run` of a project, without a network where that can be. */
export async function replayedAlone(command: readonly string[], cwd: string, env: NodeJS.ProcessEnv) {
  const words = [...CROCHET, "replay", "run", "--trust", "--json", "--time", "120", "--", ...command];
  const line = isAlone ? ["unshare", "-rn", "sh", "-c", `ip link set lo up; exec "$@"`, "sh", ...words] : words;
  const { code, out, err } = await ended(line as [string, ...string[]], { cwd, env });
  return { code, err, report: JSON.parse(out).items[0].report as DriftReport };
}
