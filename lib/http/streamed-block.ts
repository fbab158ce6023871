import type { ModelEvent, RawBlock } from "../core/model.ts";

/** A block as it is streamed, its text in the pieces that `cut` makes; `json` is the text of its input. */
export function blockEvents(
  block: RawBlock,
  index: number,
  cut: (text: string) => readonly string[] = (text) => [text],
  json?: string,
): ModelEvent[] {
  const deltas = (type: string, field: string, text: unknown) =>
    cut(String(text)).map((piece): RawBlock => ({ type, [field]: piece }));
  const events = (opened: RawBlock, streamed: readonly RawBlock[]): ModelEvent[] => [
    { type: "content_block_start", index, content_block: opened },
    ...streamed.map((delta): ModelEvent => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
  if (block.type === "text") return events({ ...block, text: "" }, deltas("text_delta", "text", block.text));
  if (block.type === "thinking") {
    const { thinking, signature } = block;
    return events({ ...block, thinking: "", signature: "" }, [
      ...deltas("thinking_delta", "thinking", thinking),
      ...(signature === undefined ? [] : [{ type: "signature_delta", signature }]),
    ]);
  }
  if (!("input" in block)) return events(block, []);
  const input = json ?? JSON.stringify(block.input);
  return events({ ...block, input: {} }, deltas("input_json_delta", "partial_json", input));
}
