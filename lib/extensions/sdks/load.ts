import { randomUUID } from "node:crypto";
import type { AnyEvent, Input } from "../../core/events.ts";
import type { HookRecord } from "../../core/hook.ts";
import { narrowestName } from "../../core/names.ts";
import { hookFolders } from "../../hooks/folder.ts";
import { resultText } from "../../hooks/hosts/keys.ts";
import { type Fire, HookRegistry, warningFire } from "../../hooks/registry.ts";
import { sampleEvent } from "../../hooks/samples.ts";
import { type HookedCall, hookedCall } from "../../hooks/wrap-tool-call.ts";

/** The events of a tool call, for SDKs whose tools are functions of the program. */
export const TOOL_EVENTS = ["pre-tool-use", "post-tool-use", "post-tool-use-failure"];

/** The hooks of a folder for one SDK. @throws {TypeError} if one cannot be loaded, or listens to an event that the SDK has no place for */
export async function hooksOf(
  folder: string,
  sdk: string,
  has: (event: string) => boolean,
  fitted: (record: HookRecord) => HookRecord = (record) => record,
): Promise<HookRegistry> {
  const [records = []] = await hookFolders([folder])();
  const lost = records.flatMap(({ name, on }) =>
    on.map(narrowestName).filter((event) => !has(event)).map((event) => `\n  ${name}: ${event}`)
  );
  if (lost.length > 0) {
    throw new TypeError(
      `Cannot use these hooks as ${sdk} has no place for them: move them to another folder${lost.join("")}`,
    );
  }
  const hooks = new HookRegistry().registerSource(() => Promise.resolve(records.map(fitted)));
  await hooks.load();
  return hooks;
}

/** The calls of tools of one program, with hooks around each. */
export class ToolCalls {
  readonly #hooks: HookRegistry;
  readonly #sdk: string;
  /** Why the run ends, once a hook has ended it. */
  #ended: string | undefined;
  /** Fires an event of this program's one session. */
  readonly fire: Fire;

  constructor(hooks: HookRegistry, sdk: string) {
    this.#hooks = hooks;
    this.#sdk = sdk;
    const fire = warningFire(hooks, randomUUID());
    this.fire = async (firing) => {
      const folded = await fire(firing);
      this.#ended ??= (folded.abort ?? folded.halt)?.reason;
      return folded;
    };
  }

  /** @throws {Error} if a hook has ended the run */
  expectGoing(): void {
    if (this.#ended !== undefined) throw new Error(`A hook ended the run: ${this.#ended}`);
  }

  /** A tool that the SDK does not run in this program. @throws {TypeError} if a hook would have to judge its calls */
  expectRun<T>(tool_name: string, tool: T): T {
    const call = { ...sampleEvent("pre-tool-use", { cwd: "/" }), tool_name } as AnyEvent;
    const judges = ({ on, misses }: HookRecord) =>
      on.some(({ event }) => event === "pre-tool-use") && misses?.(call) === undefined;
    const judge = this.#hooks.records.find(judges);
    if (!judge) return tool;
    const why = `${this.#sdk} does not run that tool in this program`;
    throw new TypeError(`Cannot guard '${tool_name}' with ${judge.name} as ${why}: take the tool or the hook out`);
  }

  /** The result of a call as the hooks leave it. @throws {ToolDeniedError} with the reason for the model */
  async run<A extends Input>(call: HookedCall<A>, make: (input: A) => unknown): Promise<unknown> {
    const { result, post } = await hookedCall(this.fire, call, async (input) => await last(make(input)));
    const kept = post.modified && post.value !== null ? resultText(post.value) ?? post.value : result;
    const said = [...post.denials.map(({ reason }) => reason), ...post.contexts.map(({ text }) => text)];
    if (said.length === 0) return kept;
    return [typeof kept === "string" ? kept : JSON.stringify(kept), ...said].join("\n\n");
  }
}

/** A tool may give one result after the other, of which the last counts. */
async function last(given: unknown): Promise<unknown> {
  if (typeof given !== "object" || given === null || !(Symbol.asyncIterator in given)) return given;
  let result: unknown;
  for await (const part of given as AsyncIterable<unknown>) result = part;
  return result;
}
