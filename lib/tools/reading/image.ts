import { Buffer } from "node:buffer";

/** An image the Messages API takes, with what it checks. */
export interface ImageFacts {
  readonly type: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  readonly width: number;
  readonly height: number;
  /** False if the file ends too early: the API would refuse the whole request. */
  readonly whole: boolean;
}

/** The Messages API takes 5 MiB of base64 an image, and 8000 pixels a side. */
const MOST_BYTES = Math.floor((5 * (1 << 20) * 3) / 4);
const MOST_PIXELS = 8000;

/** Why the API would refuse an image: with it, the whole conversation, ever again. */
export function imageProblem(
  { whole, width, height }: ImageFacts,
  size: number,
): { readonly why: string; readonly code: "damaged" | "too_large" } | undefined {
  if (!whole || width === 0 || height === 0) return { why: "it is damaged or cut off", code: "damaged" };
  const smaller = (why: string, now: string | number) =>
    ({ why: `${why}: make a smaller copy, current size is ${now}`, code: "too_large" }) as const;
  if (size > MOST_BYTES) return smaller(`it is over ${MOST_BYTES} bytes`, size);
  if (width > MOST_PIXELS || height > MOST_PIXELS) {
    return smaller(`a side is over ${MOST_PIXELS} pixels`, `${width}x${height}`);
  }
  return undefined;
}

/** Tells an image by its content, not by its name; undefined for anything else. */
export function imageFacts(given: Uint8Array): ImageFacts | undefined {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
  const starts = (text: string, at = 0) => bytes.toString("latin1", at, at + text.length) === text;
  if (starts("\x89PNG\r\n\x1a\n")) return { type: "image/png", ...png(bytes) };
  if (starts("GIF87a") || starts("GIF89a")) return { type: "image/gif", ...gif(bytes) };
  if (starts("\xff\xd8\xff")) return { type: "image/jpeg", ...jpeg(bytes) };
  if (starts("RIFF") && starts("WEBP", 8)) return { type: "image/webp", ...webp(bytes) };
  return undefined;
}

type Size = Omit<ImageFacts, "type">;

const CUT: Size = { width: 0, height: 0, whole: false };

function png(bytes: Buffer): Size {
  if (bytes.length < 24) return CUT;
  const whole = bytes.lastIndexOf("IEND") > 0;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20), whole };
}

function gif(bytes: Buffer): Size {
  if (bytes.length < 13) return CUT;
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8), whole: bytes.at(-1) === 0x3b };
}

/** The size is in the first frame header, behind any number of other segments. */
function jpeg(bytes: Buffer): Size {
  const whole = bytes.lastIndexOf(Buffer.from([0xff, 0xd9])) > 0;
  for (let at = 2; at + 9 < bytes.length && bytes[at] === 0xff;) {
    const marker = bytes[at + 1]!;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5), whole };
    // Fill bytes and markers without a body stand alone.
    at += marker === 0xff
      ? 1
      : marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)
      ? 2
      : 2 + bytes.readUInt16BE(at + 2);
  }
  return CUT;
}

function webp(bytes: Buffer): Size {
  if (bytes.length < 30) return CUT;
  const whole = bytes.readUInt32LE(4) + 8 <= bytes.length;
  const kind = bytes.toString("latin1", 12, 16);
  if (kind === "VP8X") return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1, whole };
  if (kind === "VP8L") {
    const packed = bytes.readUInt32LE(21);
    return { width: (packed & 0x3fff) + 1, height: ((packed >> 14) & 0x3fff) + 1, whole };
  }
  return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff, whole };
}
