import { gunzipSync } from "node:zlib";
import { parseAllDocuments } from "yaml";

/** What an answer says, found without a reader of any format: by walking all that a file holds. */
export type Said = { readonly message: any } | { readonly error: any } | { readonly broken: string };

/** Every answer of a recording in the order of the file, whatever its format. */
export function answersIn(bytes: Uint8Array): Said[] {
  const text = new TextDecoder().decode(bytes[0] === 0x1f ? gunzipSync(bytes) : bytes);
  const found: Said[] = [];
  const lines = text.trim().split("\n");
  if (lines.every((line) => json(line)?.type)) return [folded(lines.map(json))];
  const whole = json(text);
  if (whole !== undefined) walk(whole, found);
  else if (/^(event|data):/.test(text)) walk(text, found);
  else {
    const tag = { tag: "!binary", resolve: (value: string) => Buffer.from(value, "base64") };
    for (const document of parseAllDocuments(text, { customTags: ["binary", tag], logLevel: "silent" })) {
      walk(document.toJS(), found);
    }
  }
  return found;
}

function walk(value: any, found: Said[]): void {
  if (typeof value === "string" || value instanceof Uint8Array) return fromText(value, found);
  if (typeof value !== "object" || value === null) return;
  if (value.type === "message" && value.usage) return void found.push({ message: value });
  if (value.type === "error" && value.error) return void found.push({ error: value.error });
  for (const part of Object.values(value)) walk(part, found);
}

function fromText(value: string | Uint8Array, found: Said[]): void {
  const text = typeof value === "string"
    ? value
    : (value[0] === 0x1f ? gunzipSync(value) : Buffer.from(value)).toString();
  if (/"type": ?"message_start"/.test(text)) {
    const data = [...text.matchAll(/^data:(.*)$/gm)].map(([, line]) => json(line!)).filter((event) =>
      event !== undefined
    );
    return void found.push(folded(data));
  }
  const inner = json(text);
  if (typeof inner === "object") walk(inner, found);
}

function json(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** One message of its events, by the words of the API's documentation. */
function folded(events: readonly any[]): Said {
  const starts = events.filter((event) => event.type === "message_start");
  if (starts.length !== 1) return { broken: `${starts.length} starts` };
  const message = structuredClone(starts[0].message);
  const texts: Record<number, string> = {};
  for (const { type, index, content_block, delta, usage } of events) {
    if (type === "content_block_start") message.content[index] = structuredClone(content_block);
    if (type === "content_block_start" && content_block.to) message.model = content_block.to.model;
    if (type === "message_delta") {
      Object.assign(message, delta);
      for (const [key, count] of Object.entries(usage ?? {})) if (count !== null) message.usage[key] = count;
    }
    if (type !== "content_block_delta") continue;
    const block = message.content[index];
    if (delta.type === "text_delta") block.text += delta.text;
    if (delta.type === "thinking_delta") block.thinking += delta.thinking;
    if (delta.type === "signature_delta") block.signature = delta.signature;
    if (delta.type === "citations_delta") block.citations = [...block.citations ?? [], delta.citation];
    if (delta.type === "compaction_delta") block.content = delta.content;
    if (delta.type === "input_json_delta") texts[index] = (texts[index] ?? "") + delta.partial_json;
  }
  for (const [index, text] of Object.entries(texts)) {
    if (text !== "") message.content[index].input = json(text) ?? { unparsed: text };
  }
  return { message };
}
