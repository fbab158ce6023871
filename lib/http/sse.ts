import { ModelError, type ModelEvent } from "../core/model.ts";

/** Turns the bytes of a streamed reply into its events. Where the bytes are cut makes no difference. */
export interface EventParser {
  /** The events that are complete with this chunk. */
  push(chunk: Uint8Array): ModelEvent[];
  /** What the stream still held when it ended: a last event without its blank line is one, half an event is not. */
  end(): ModelEvent[];
}

/** Stands for the line `[DONE]`, which is not JSON. */
export const DONE: unique symbol = Symbol("[DONE]");

/** The most characters of one event: no reply has a longer event, and memory is limited. */
const LONGEST_EVENT = 64 * 1024 * 1024;

/**
 * Reads server-sent events as APIs and the gateways before them really send them: padded, with any line ending, with or
 * without `event:` lines, blank lines or a closing `[DONE]`, an error in a line `error:`.
 *
 * @param read what an API makes of the data of one event; undefined: nothing. A closing `[DONE]` comes as `DONE`
 * @throws {ModelError} in `push` and `end`, if a whole event is not JSON
 */
export function eventParser(
  read: (value: unknown, name: string) => ModelEvent | undefined = messagesEvent,
): EventParser {
  const decoder = new TextDecoder();
  const found: ModelEvent[] = [];
  let line = ""; // the start of a line whose end has not come yet; only ever appended to, so a long line stays linear
  let name = "";
  let data: string | undefined;
  let ending = false;
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
    else if (source.startsWith("error:", from)) {
      closeEvent();
      name = "error";
      data = source.slice(from + 6, to);
    }
  }

  function closeEvent(): void {
    if (data !== undefined) readEvent(data, name);
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

  /** Padding needs no care: JSON allows spaces around a value. */
  function readEvent(data: string, name: string): void {
    let value: unknown;
    try {
      value = JSON.parse(data);
    } catch {
      if (data.trim() === "[DONE]") value = DONE;
      else if (data.includes("\n")) { // some gateways leave out the blank lines: then each line is an event
        for (const part of data.split("\n")) readEvent(part, name);
        return;
      } else if (name.trim() === "error") value = data.trim();
      else if (ending) return; // the stream was cut in the middle of it
      else throw notJson(data);
    }
    const event = read(value, name.trim());
    if (event !== undefined) found.push(event);
  }

  return afterMistakes(found, {
    push: (chunk) => addText(text(decoder.decode(chunk, { stream: true }), false)),
    end: endText,
  });
}

/** What was found before a mistake is given first, whatever the chunks: the mistake is thrown by the next call. */
export function afterMistakes(
  found: ModelEvent[],
  reading: { push(chunk: Uint8Array): void; end(): void },
): EventParser {
  let mistake: unknown;
  const taking = (read: () => void): ModelEvent[] => {
    if (mistake !== undefined) throw mistake;
    try {
      read();
    } catch (error) {
      mistake = error;
      if (found.length === 0) throw mistake;
    }
    return found.splice(0);
  };
  return { push: (chunk) => taking(() => reading.push(chunk)), end: () => taking(() => reading.end()) };
}

function tooLong(): ModelError {
  const why = `an event of its stream is longer than ${LONGEST_EVENT} characters`;
  return new ModelError(`Cannot read the model's reply as ${why}: check the base URL`, { code: "grammar" });
}

function notJson(data: string): ModelError {
  return new ModelError(`Cannot read the model's reply as an event of its stream is not JSON: ${data.slice(0, 200)}`, {
    code: "grammar",
    retryable: true,
  });
}

function messagesEvent(value: unknown, name: string): ModelEvent | undefined {
  if (value === DONE) return undefined;
  return isEvent(value) ? value : named(value, name);
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
