import { ModelError, type ModelEvent } from "../core/model.ts";

/** Turns the bytes of a streamed reply into its events. Where the bytes are cut makes no difference. */
export interface EventParser {
  /** The events that are complete with this chunk. */
  push(chunk: Uint8Array): ModelEvent[];
  /** What the stream still held when it ended: a last event without its blank line is one, half an event is not. */
  end(): ModelEvent[];
}

/** The characters of one event at most: no reply has such a one, and memory ends. */
const LONGEST_EVENT = 64 * 1024 * 1024;

/**
 * Reads server-sent events as the Messages API and the gateways before it really send them: padded, with any line
 * ending, with or without `event:` lines, blank lines or a closing `[DONE]`.
 *
 * @throws {ModelError} in `push` and `end`, if a whole event is not JSON
 */
export function eventParser(): EventParser {
  const decoder = new TextDecoder();
  let found: ModelEvent[] = [];
  let line = ""; // the start of a line whose end has not come yet; only ever appended to, so a long line stays linear
  let name = "";
  let data: string | undefined;
  let ending = false;
  let mistake: ModelError | undefined;
  let heldReturn = false; // a chunk ended in '\r': a '\n' may follow and belong to it

  function text(decoded: string, last: boolean): string {
    let plain = heldReturn ? "\r" + decoded : decoded;
    heldReturn = false;
    if (!plain.includes("\r")) return plain;
    if (!last && plain.endsWith("\r")) {
      heldReturn = true;
      plain = plain.slice(0, -1);
    }
    return plain.replace(/\r\n?/g, "\n");
  }

  function addText(plain: string): void {
    let from = 0;
    for (let to = plain.indexOf("\n"); to >= 0; to = plain.indexOf("\n", from)) {
      if (line === "") addLine(plain, from, to);
      else {
        line += plain.slice(from, to);
        addLine(line, 0, line.length);
        line = "";
      }
      from = to + 1;
    }
    line += plain.slice(from);
    if (line.length + (data?.length ?? 0) > LONGEST_EVENT) throw tooLong();
  }

  function addLine(source: string, from: number, to: number): void {
    if (from === to) closeEvent();
    else if (source.startsWith("data:", from)) {
      const part = source.slice(from + 5, to);
      data = data === undefined ? part : data + "\n" + part;
    } else if (source.startsWith("event:", from)) name = source.slice(from + 6, to);
  }

  function closeEvent(): void {
    if (data !== undefined) readEvent(data, name, ending, found);
    name = "";
    data = undefined;
  }

  function endText(): void {
    ending = true;
    addText(text(decoder.decode(), true));
    if (line !== "") addLine(line, 0, line.length);
    line = "";
    closeEvent();
  }

  /** What was found before a mistake is given first, whatever the chunks: the mistake is thrown by the next call. */
  function taking(read: () => void): ModelEvent[] {
    if (mistake) throw mistake;
    try {
      read();
    } catch (error) {
      mistake = error as ModelError;
      if (found.length === 0) throw mistake;
    }
    const events = found;
    found = [];
    return events;
  }

  return {
    push: (chunk) => taking(() => addText(text(decoder.decode(chunk, { stream: true }), false))),
    end: () => taking(endText),
  };
}

function tooLong(): ModelError {
  return new ModelError(
    `Cannot read the model's reply as an event of its stream is longer than ${LONGEST_EVENT} characters: check ANTHROPIC_BASE_URL`,
    { code: "grammar" },
  );
}

/** Padding needs no care: JSON allows spaces around a value. */
function readEvent(data: string, name: string, last: boolean, found: ModelEvent[]): void {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    if (data.trim() === "[DONE]") return;
    if (data.includes("\n")) { // some gateways leave out the blank lines: then each line is an event
      for (const part of data.split("\n")) readEvent(part, name, last, found);
      return;
    }
    if (name.trim() === "error") value = data.trim();
    else if (last) return; // the stream was cut in the middle of it
    else {
      throw new ModelError(
        `Cannot read the model's reply as an event of its stream is not JSON: ${data.slice(0, 200)}`,
        {
          code: "grammar",
          retryable: true,
        },
      );
    }
  }
  found.push(isEvent(value) ? value : named(value, name.trim()));
}

function isEvent(value: unknown): value is ModelEvent {
  return typeof (value as { type?: unknown } | null)?.type === "string";
}

/** Some gateways name the event in its `event:` line only. */
function named(value: unknown, name: string): ModelEvent {
  if (name !== "error") return { ...(value as object), type: name } as ModelEvent;
  const inner = (value as { error?: unknown } | null)?.error ?? value;
  const { type = "api_error", message = typeof inner === "string" ? inner : JSON.stringify(inner) } = inner as {
    type?: string;
    message?: string;
  };
  return { type: "error", error: { type, message } };
}
