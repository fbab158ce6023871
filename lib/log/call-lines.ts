import { isObject, type JsonObject } from "../core/json.ts";
import type { Json } from "../core/messages.ts";
import { canonical, hash } from "../replay/canonical.ts";
import type { Call, TapeRequest } from "../replay/tape.ts";
import type { Fact, HeadFact, SpecFact } from "./entry.ts";
import { packEvents } from "./pack.ts";

/** A head as its line has it, but for its number, and with whole tools. */
export type WholeHead = Omit<HeadFact, "head" | "tools"> & { readonly tools?: readonly JsonObject[] };

export function headOf({ model, params, system, tools, wire, sent }: Omit<TapeRequest, "messages">): WholeHead {
  const [only] = system;
  const plain = system.length === 1 && only!.type === "text" && Object.keys(only!).length === 2;
  return {
    model,
    params: params as HeadFact["params"],
    ...(system.length > 0 && { system: plain ? (only as { text: string }).text : system as readonly Json[] }),
    tools,
    ...(wire && { wire }),
    ...(sent && { sent: sent as NonNullable<HeadFact["sent"]> }),
  };
}

/** The heads of a file, each written once, after the tools that it names. */
export class Heads {
  readonly #numbers = new Map<string, number>();
  readonly #specs = new Set<string>();

  /** The number of a head, and the lines that are not there yet; `text` is what it is known by. */
  of({ tools = [], ...rest }: WholeHead, text: string): { readonly head: number; readonly fresh: readonly Fact[] } {
    const known = this.#numbers.get(text);
    if (known !== undefined) return { head: known, fresh: [] };
    const head = this.#numbers.size + 1;
    this.#numbers.set(text, head);
    const specs = tools.map((tool) => {
      return { spec: `${toolName(tool)}@${hash(canonical(tool)).slice(0, 8)}`, tool } as SpecFact;
    });
    const unseen = specs.filter(({ spec }) => !this.#specs.has(spec));
    for (const { spec } of unseen) this.#specs.add(spec);
    return {
      head,
      fresh: [...unseen, { head, ...rest, ...(specs.length > 0 && { tools: specs.map((s) => s.spec) }) }],
    };
  }
}

/** What a line calls a tool. */
function toolName(tool: JsonObject): string {
  const { name, function: called, type } = tool;
  return String(name ?? (isObject(called) ? called.name : undefined) ?? type ?? Object.keys(tool)[0]);
}

/** What is read of a head; `lacks` makes the error for a tool that was not described before it. */
export function readHead(
  { model, params, system = [], tools = [], wire, sent }: HeadFact,
  specs: ReadonlyMap<string, SpecFact["tool"]>,
  lacks: (tool: string) => Error,
): Omit<TapeRequest, "messages"> {
  return {
    model,
    params,
    system: typeof system === "string" ? [{ type: "text", text: system }] : system as unknown as TapeRequest["system"],
    tools: tools.map((name) => {
      const spec = specs.get(name);
      if (!spec) throw lacks(name);
      return spec;
    }),
    ...(wire && { wire }),
    ...(sent && { sent }),
  };
}

/** The lines of what a call was answered. */
export function answerLines({ id, attempts, error }: Pick<Call, "id" | "attempts" | "error">): Fact[] {
  const lines: Fact[] = attempts.map(({ api: _, events, ...attempt }, i) => ({
    events: id,
    attempt: i + 1,
    ...attempt,
    ...(events && packEvents(events)),
  }));
  return error ? [...lines, { error: id, ...error }] : lines;
}
