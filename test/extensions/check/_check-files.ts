import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { checkHook, type CheckReport, runExamples } from "../../../lib/testing/index.ts";
import type { HookReport } from "../../../lib/extensions/check/check-report.ts";
import { scratch } from "../../_scratch.ts";

/** Real processes on a busy machine. */
export const SLOW = { timeout: 120_000 };

/** A folder of hook files that goes when the test ends; shell scripts are programs there. */
export function hookFiles(files: { readonly [name: string]: string }): { path: string } & Disposable {
  const folder = scratch(files);
  for (const [name, text] of Object.entries(files)) {
    chmodSync(join(folder.path, name), text.startsWith("#!") ? 0o755 : 0o644);
  }
  return folder;
}

/** A shell script that has read its event. */
export const sh = (...lines: readonly string[]) => ["#!/bin/sh", "event=$(cat)", ...lines, ""].join("\n");

/** Settings of a host with one hook. */
export const settings = (event: string, hook: object, matcher?: string) =>
  JSON.stringify({ hooks: { [event]: [{ ...(matcher && { matcher }), hooks: [{ type: "command", ...hook }] }] } });

type Options = Parameters<typeof checkHook>[1];

/** The codes that are found of each hook in a folder, by its name. */
export async function codes(files: { readonly [name: string]: string }, options: Options = {}) {
  const { hooks } = await checked(files, options);
  return Object.fromEntries(hooks.map(({ hook, findings }) => [hook, findings.map(({ code }) => code).join()]));
}

export async function checked(files: { readonly [name: string]: string }, options: Options = {}): Promise<CheckReport> {
  using folder = hookFiles(files);
  const usual = { runs: 8, seed: 1, timeout: 20, time: 600, rounds: 10, cwd: folder.path };
  return await checkHook(folder.path, { ...usual, ...options });
}

/** What the law finds of each hook of a folder: the code and the message. */
export async function races(files: { readonly [name: string]: string }, seed = 1): Promise<Record<string, string>> {
  using folder = hookFiles(files);
  const options = { runs: 0, seed, laws: ["concurrent"] as const, timeout: 20, time: 600, cwd: folder.path };
  const { hooks, problems } = await checkHook(folder.path, options);
  assert.deepEqual(problems, []);
  return Object.fromEntries(hooks.map(({ hook, findings, unchecked }) => [
    hook,
    [unchecked, ...findings.map(({ severity, code, message }) => `${severity} ${code}: ${message}`)].join(""),
  ]));
}

/** How each example of a folder ended: its name, or why it failed. */
export async function played(files: { readonly [name: string]: string }, timeout = 10): Promise<string[]> {
  using folder = hookFiles(files);
  return (await runExamples(folder.path, { timeout })).map(({ name, ok, why }) => ok ? name : `${name}: ${why}`);
}

export const PUSH_RULES = 'args.command contains "git push" -> deny("Pushing is for people")';

/** The report in `--json`: the hooks that were checked, and what could not be. */
export function reportIn(out: string) {
  const { items, ...rest } = JSON.parse(out) as { word: string; items: (HookReport & { word: string; why: string })[] };
  return {
    ...rest as Pick<CheckReport, "seed" | "runs" | "host"> & { word: string },
    hooks: items.filter(({ hook }) => hook !== undefined),
    problems: items.filter(({ word }) => word === "cannot run").map(({ why }) => why),
  };
}

export const GOOD = "#!/bin/sh\ncat > /dev/null\n";
export const LOOPS = '#!/bin/sh\ncat > /dev/null\necho \'{"decision":"block","reason":"more"}\'\n';
export const FEW = ["--runs", "4", "--seed", "7"];
