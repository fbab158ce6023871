import { text } from "node:stream/consumers";
import { fire } from "../../core/dispatch.ts";
import type { AnyEvent } from "../../core/events.ts";
import type { HookRecord } from "../../core/hook.ts";
import { parseFileName } from "../file/file-name.ts";
import { moduleRecord } from "../file/hook-record.ts";
import { askEach } from "../hosts/ask-each.ts";
import { claude } from "../hosts/claude.ts";
import { fitted } from "../hosts/fit-record.ts";
import { ourEvents } from "../hosts/read-event.ts";
import { writeAnswer } from "../hosts/write-answer.ts";
import { servedContext } from "../serving/env.ts";

/** A module of a mod that needs what the inside of Claude Code does not have: the mod starts it and reads its answer. */
export async function answer(
  loaded: { readonly default?: unknown; readonly config?: unknown },
  name: string,
): Promise<void> {
  const heard = ourEvents(JSON.parse(await text(process.stdin)), claude);
  const [first] = heard;
  if (!first) return;
  const file = { ...parseFileName(name), name, path: name, at: name, text: "", executable: false };
  const record = moduleRecord(file, loaded, name, (hook) => hook as HookRecord["run"]);
  const { signal } = new AbortController();
  const { env } = servedContext(first, { host: "claude", env: process.env, signal }, name);
  const folded = await askEach(heard, claude, (one) => fire([fitted(record, one, claude)], { ...one.fired }, env));
  const { stdout, stderr, code } = writeAnswer(folded, first.fired as AnyEvent, claude, first.wireName);
  process.stderr.write(env.logged.join("") + stderr + env.keepValues());
  process.stdout.write(stdout);
  process.exitCode = code;
}
