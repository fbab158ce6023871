import { Buffer } from "node:buffer";
import { answerText, headersOf, requestBody } from "./_body.ts";
import { type Fields, fieldsOf, type Format, listOf, topOf } from "./exchange.ts";

/** HTTP archives: Polly.js writes them, and so do browsers and proxies. */
export const har: Format = {
  name: "har",
  about: "HTTP archives, as Polly.js and browsers write them",
  recognises: (file) => listOf(fieldsOf(topOf(file)?.log), "entries")?.some((entry) => "response" in entry) ?? false,
  read: (file) =>
    listOf(fieldsOf(topOf(file)!.log), "entries")!.map((entry) => {
      const request = fieldsOf(entry.request);
      const response = fieldsOf(entry.response);
      const content = fieldsOf(response.content);
      const headers = headersOf(response.headers);
      const at = Date.parse(String(entry.startedDateTime));
      const took = Number(entry.time ?? Number.NaN);
      return {
        method: String(request.method ?? "POST"),
        url: String(request.url ?? ""),
        requestHeaders: headersOf(request.headers),
        request: requestBody(fieldsOf(request.postData).text),
        status: Number(response.status),
        headers,
        body: answerText(() => bodyOf(content), headers["content-encoding"]),
        ...(!Number.isNaN(at) && { at }),
        ...(took >= 0 && { took: Math.round(took) }),
      };
    }),
};

/** What is not plain text is in base64; Polly.js also writes a list of pieces, of which older ones are hexadecimal digits. */
function bodyOf({ text, encoding, _isBinary }: Fields): unknown {
  if (encoding !== "base64" && _isBinary !== true) return text;
  const pieces = piecesOf(String(text));
  if (!pieces) return { base64_string: text };
  const form = pieces.every((piece) => /^([0-9a-f]{2})*$/i.test(piece)) ? "hex" : "base64";
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece, form)));
}

function piecesOf(text: string): string[] | undefined {
  if (!text.startsWith("[")) return undefined;
  try {
    const pieces: unknown = JSON.parse(text);
    return Array.isArray(pieces) && pieces.every((piece) => typeof piece === "string") ? pieces : undefined;
  } catch {
    return undefined;
  }
}
