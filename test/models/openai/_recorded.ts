import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Reply } from "../../../lib/core/model.ts";
import type { Exchange } from "../../../lib/extensions/import/exchange.ts";
import { readRecording } from "../../../lib/extensions/import/read-recording.ts";
import { recordings } from "../../_data.ts";

/** What an answer must come to, as the manifest of the recordings says it. */
export interface Expected {
  readonly api: "chat" | "responses";
  readonly status: number;
  readonly id?: string;
  readonly model?: string;
  readonly content?: readonly { readonly [key: string]: unknown }[];
  readonly stop_reason?: string;
  readonly usage?: object | null;
  readonly cost?: number;
  readonly error?: { readonly code: string; readonly message: string; readonly retryable: boolean };
}

/** A recorded answer, or one written after a report. */
export interface Answer {
  readonly name: string;
  readonly status: number;
  readonly type: string;
  readonly body: string;
  /** The request it answers; undefined if only the answer is known. */
  readonly request: { readonly [key: string]: unknown } | undefined;
  readonly want: Expected;
}

export const manifest = recordings("openai-cassettes/manifest.json");

/** All answers of the recordings, then the written ones. */
export async function answers(): Promise<Answer[]> {
  if (manifest === undefined) return [];
  const folder = dirname(manifest);
  const found: Answer[] = [];
  for (const { file, expected } of JSON.parse(readFileSync(manifest, "utf8"))) {
    const { exchanges } = await readRecording(readFileSync(join(folder, file)));
    for (const [i, exchange] of exchanges.filter(isCall).entries()) {
      found.push({
        name: `${file} ${i + 1}`,
        status: exchange.status,
        type: exchange.headers["content-type"] ?? "application/json",
        body: exchange.body(),
        request: exchange.request as Answer["request"],
        want: expected[i],
      });
    }
  }
  const written = readFileSync(join(folder, "quirks.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line));
  return [...found, ...written.map(({ path, ...rest }) => ({ name: path, request: undefined, ...rest }))];
}

function isCall({ method, url = "" }: Exchange): boolean {
  return method === "POST" && /\/(chat\/completions|responses)$/.test(url);
}

type Json = { readonly [key: string]: unknown };

/** The parts of a reply's blocks that the manifest has. */
export function compared({ message, calls }: Pick<Reply, "message" | "calls">): Json[] {
  return (message.content as readonly Json[]).map(({ type, text, thinking, id, name, input }) => {
    if (type === "text") return { type, text };
    if (type === "thinking") return { type, thinking };
    if (type !== "tool_use") return { type };
    const isInvalid = calls.some((call) => call.id === id && call.invalid !== undefined);
    return { type, id, name, input, ...(isInvalid && { invalid: true }) };
  });
}
