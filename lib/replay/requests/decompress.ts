import { brotliDecompressSync, constants, gunzipSync, inflateSync } from "node:zlib";
import * as zlib from "node:zlib";
import { quietly } from "../../core/json.ts";

/** A body that decompresses to more than this was made to fill the memory. */
const LARGEST = 64 * 1024 * 1024;

/** The bytes decide, as `content-encoding` often stays when a recorder decompressed the body. */
export function decompressed(bytes: Uint8Array, encoding: string): Uint8Array {
  const capped = { maxOutputLength: LARGEST };
  // A stream that was cut has no trailer.
  const lenient = { ...capped, finishFlush: constants.Z_SYNC_FLUSH };
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return gunzipSync(bytes, lenient);
  if (isText(bytes)) return bytes;
  if (encoding === "br") return nonEmpty(brotliDecompressSync(bytes, capped));
  if (encoding === "zstd") return zlib.zstdDecompressSync(bytes, capped); // not in older versions of Node
  if (encoding === "deflate") return inflateSync(bytes, lenient);
  return bytes;
}

/** Deno returns nothing for a Brotli body that is cut; Bun and Node throw. */
function nonEmpty(bytes: Uint8Array): Uint8Array {
  if (bytes.length === 0) throw new Error("Unexpected end of file");
  return bytes;
}

function isText(bytes: Uint8Array): boolean {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const text = quietly(() => decoder.decode(bytes.subarray(0, 4096), { stream: true }));
  // deno-lint-ignore no-control-regex
  return text !== undefined && !/[\u0000-\u0008\u000e-\u001f]/.test(text);
}
