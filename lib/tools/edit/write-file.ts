import { Buffer } from "node:buffer";
import { type Changed, changeFile, type FileContext } from "../../files/change-file.ts";
import { decode, type Encoding, encodingOf } from "../../files/encoding.ts";
import { type Splice, spliceBetween } from "../../files/splices.ts";
import { draw, type Drawn, notesOn, originalFile, report } from "./report.ts";

interface Plan {
  readonly splices: readonly Splice[];
}

/** Writes a whole file, and draws what changed. Loaded by the first call of Write. */
export async function writeFile(
  { file_path, content }: { readonly file_path: string; readonly content: string },
  context: FileContext,
) {
  const diff = await import("diff");
  const bytes = Buffer.from(content, "utf8");
  let drawn: Drawn | undefined;
  const changed = await changeFile<Plan>(file_path, context, {
    verb: "write",
    create: true,
    known: true,
    plan: (before) => ({ splices: before ? spliceBetween(before, bytes) : [{ start: 0, end: 0, bytes }] }),
    meanwhile: (before, { splices }) => drawn = drawWrite(before, bytes, splices, diff),
  });
  const type = changed.before === undefined ? "create" as const : "update" as const;
  return {
    written: { ...report(changed, drawn!, diff), type },
    content: [
      `The file ${changed.place.path} has been ${type}d`,
      ...overwriteNotes(changed),
      ...notesOn(changed, drawn!),
    ].join("\n"),
    original: () =>
      changed.before === undefined
        ? { originalFile: null }
        : originalFile(changed.before, textEncoding(changed.before)),
  };
}

/** A file in another encoding becomes UTF-8, so the two are compared as text. */
function drawWrite(
  before: Uint8Array | undefined,
  now: Uint8Array,
  splices: readonly Splice[],
  diff: typeof import("diff"),
): Drawn {
  if (before === undefined) return draw(new Uint8Array(), splices, "bytes", diff);
  const encoding = textEncoding(before);
  if (encoding === "bytes") return draw(before, splices, "bytes", diff);
  const text = Buffer.from(decode(before, encoding), "utf8");
  return draw(text, spliceBetween(text, now), "bytes", diff);
}

function textEncoding(bytes: Uint8Array): Encoding {
  const encoding = encodingOf(bytes);
  return encoding === "utf32" ? "bytes" : encoding;
}

function overwriteNotes({ before, changedSinceRead }: Changed<Plan>): string[] {
  if (before === undefined) return [];
  const notes: string[] = [];
  if (changedSinceRead === undefined) {
    notes.push("(note: the file was there and had not been read; its old content is gone from the disk)");
  }
  if (textEncoding(before) !== "bytes") notes.push("(note: the file was UTF-16 and is UTF-8 now)");
  return notes;
}
