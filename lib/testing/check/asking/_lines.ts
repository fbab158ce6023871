import type { Readable } from "node:stream";

/** Gives each line of a stream. Only a line feed ends one: readline would also end it at U+2028, which JSON may hold. */
export function eachLine(stream: Readable, take: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  return new Promise((resolve) => {
    stream.on("data", (chunk: Uint8Array) => {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop()!;
      for (const line of lines) take(line);
    });
    stream.once("close", resolve);
    stream.once("end", resolve);
  });
}
