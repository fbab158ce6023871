import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { parsed } from "../../core/json.ts";
import { exchangeOf } from "./_written.ts";
import { type Beside, type Fields, fieldsOf, type Format, ImportRefused, isFields, listOf, topOf } from "./exchange.ts";

/** HTTP archives: Polly.js writes them, and so do browsers and proxies; Playwright may keep bodies in files beside it. */
export const har: Format = {
  name: "har",
  about: "HTTP archives, as Polly.js and browsers write them",
  recognises: (file) => listOf(fieldsOf(topOf(file)?.log), "entries")?.some((entry) => "response" in entry) ?? false,
  read: (file) =>
    listOf(fieldsOf(topOf(file)!.log), "entries")!.map((entry) => {
      const request = fieldsOf(entry.request);
      const response = fieldsOf(entry.response);
      const content = fieldsOf(response.content);
      const exchange = exchangeOf({
        method: request.method,
        url: String(request.url ?? ""),
        requestHeaders: request.headers,
        request: asked(fieldsOf(request.postData), file.beside),
        status: response.status,
        headers: response.headers,
        body: () => typeof content._file === "string" ? attached(content._file, file.beside) : bodyOf(content),
        at: entry.startedDateTime,
        took: entry.time,
      });
      return isFields(entry.response) ? exchange : { ...exchange, unanswered: true };
    }),
};

/** A request whose body is not there any more is one that was not recorded. */
function asked({ text, _file }: Fields, beside: Beside | undefined): unknown {
  if (typeof _file !== "string") return text;
  const bytes = beside?.(".", _file);
  return bytes && isNamedByHash(_file, bytes) ? bytes : undefined;
}

function attached(name: string, beside: Beside | undefined): Uint8Array {
  const bytes = beside?.(".", name);
  if (bytes && isNamedByHash(name, bytes)) return bytes;
  throw new ImportRefused(`a body of it is in another file that is ${bytes ? "another by now" : "not there"}: ${name}`);
}

/** An archive that names any other file of its folder is not given it. */
function isNamedByHash(name: string, bytes: Uint8Array): boolean {
  return name.startsWith(`${createHash("sha1").update(bytes).digest("hex")}.`);
}

/** What is not plain text is in base64; Polly.js also writes a list of pieces, of which older ones are hexadecimal digits. */
function bodyOf({ text, encoding, _isBinary }: Fields): unknown {
  if (encoding !== "base64" && _isBinary !== true) return text;
  const pieces = piecesOf(String(text));
  if (!pieces) return { base64_string: text };
  const form = pieces.every((piece) => /^([0-9a-f]{2})*$/i.test(piece)) ? "hex" : "base64";
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece, form)));
}

function piecesOf(text: string): string[] | undefined {
  const pieces = text.startsWith("[") ? parsed(text) : undefined;
  return Array.isArray(pieces) && pieces.every((piece) => typeof piece === "string") ? pieces : undefined;
}
