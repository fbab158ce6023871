import { type Block, text } from "./messages.ts";

/** What of a result is text for the model at most: what says more has said too much for any context. */
const LONGEST = 200_000;

/** What a result ends with that was cut: it is not cut again where it is served once more. */
const NOTE = /\(\d+ more characters are left out: ask for less at once\)$/;

/** The result of a tool as far as a model is given it; a last line says what is left out. */
export function shortened(content: string | readonly Block[]): string | readonly Block[] {
  if (typeof content === "string") return wordsIn(shortenedBlocks([text(content)]))[0] ?? "";
  return shortenedBlocks(content);
}

export function shortenedBlocks(blocks: readonly Block[]): readonly Block[] {
  const words = wordsIn(blocks);
  const size = words.reduce((sum, { length }) => sum + length, 0);
  if (size <= LONGEST || (size <= LONGEST + 100 && NOTE.test(words.at(-1)!))) return blocks;
  let room = LONGEST;
  const kept = blocks.flatMap((block) => {
    if (block.type !== "text") return [block];
    const whole = String((block as { text: unknown }).text);
    const part = whole.slice(0, room);
    room -= part.length;
    return part.length === whole.length ? [block] : part === "" ? [] : [text(part)];
  });
  const note = `(${size - LONGEST} more characters are left out: ask for less at once)`;
  const last = kept.at(-1);
  return last?.type === "text"
    ? [...kept.slice(0, -1), text(`${(last as { text: string }).text}\n${note}`)]
    : [...kept, text(note)];
}

function wordsIn(blocks: readonly Block[]): string[] {
  return blocks.flatMap((block) => block.type === "text" ? [String((block as { text: unknown }).text)] : []);
}
