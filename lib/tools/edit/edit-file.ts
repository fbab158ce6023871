import { ToolError } from "../../core/tool.ts";
import { planEdit } from "./apply-edit.ts";
import type { EditCall } from "./edit-call.ts";
import { type Encoding, encodingOf } from "../../files/encoding.ts";
import { type Changed, changeFile, type FileContext } from "../../files/change-file.ts";
import type { Eol } from "../../files/line-breaks.ts";
import { changedSinceRead } from "../../files/read-record.ts";
import { type ChangeReport, draw, type Drawn, notesOn, originalFile, report } from "./report.ts";
import { applySplices, composeSplices, type Splice } from "../../files/splices.ts";

/** What an edit came to. */
export interface EditReport extends ChangeReport {
  readonly replacements: number;
  /** How the line breaks of the strings were taken. */
  readonly eol: Eol;
}

interface Plan {
  readonly splices: readonly Splice[];
  readonly encoding: Encoding;
  readonly eol: Eol;
  readonly replacements: number;
}

export interface EditedFile {
  readonly report: EditReport;
  /** What the model reads. */
  readonly content: string;
  /** The old text for a structured result; worked out only when asked for. */
  readonly originalFile: () => { originalFile?: string };
}

/** Applies checked edits to one file, each to what the ones before it made, all or none. */
export async function editFile(
  path: string,
  calls: readonly Required<EditCall>[],
  context: FileContext,
): Promise<EditedFile> {
  const diff = await import("diff");
  let drawn: Drawn | undefined;
  const changed = await changeFile<Plan>(path, context, {
    verb: "edit",
    plan: (bytes, place) => {
      try {
        return planEdits(bytes!, calls);
      } catch (error) {
        throw isStale(error) && changedSinceRead(context.state, place.real, bytes!)
          ? blameChange(error as ToolError)
          : error;
      }
    },
    meanwhile: (bytes, { splices, encoding }) => drawn = draw(bytes!, splices, encoding, diff),
  });
  const { eol, replacements, encoding } = changed.plan;
  const edited: EditReport = { ...report(changed, drawn!, diff), eol, replacements };
  return {
    report: edited,
    content: [confirmation(edited, changed), ...notesOn(changed, drawn!)].join("\n"),
    originalFile: () => originalFile(changed.before!, encoding),
  };
}

function planEdits(bytes: Uint8Array, calls: readonly Required<EditCall>[]): Plan {
  const [only] = calls;
  if (calls.length === 1) {
    const plan = planEdit(bytes, only!);
    return { ...plan, replacements: plan.splices.length };
  }
  let current = bytes, replacements = 0;
  let splices: readonly Splice[] = [], eol: Eol = "verbatim";
  for (const [i, call] of calls.entries()) {
    const plan = planNumbered(current, call, `${i + 1} of ${calls.length}`);
    splices = composeSplices(splices, current, plan.splices);
    current = applySplices(current, plan.splices);
    replacements += plan.splices.length;
    if (plan.eol !== "verbatim") eol = plan.eol;
  }
  return { splices, encoding: encodingOf(bytes) as Encoding, eol, replacements };
}

function planNumbered(bytes: Uint8Array, call: Required<EditCall>, number: string) {
  try {
    return planEdit(bytes, call);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    throw new ToolError(`${error.message}\nThis was edit ${number}, and none was applied`, { code: error.code });
  }
}

function isStale(error: unknown): boolean {
  return error instanceof ToolError && (error.code === "not_found" || error.code === "ambiguous");
}

function blameChange({ message, code }: ToolError): ToolError {
  return new ToolError(`${message}\nThe file changed on disk since it was read: read it again`, { code });
}

const LINES_SHOWN = 10;

const EOL_NOTE: Record<Eol, string> = {
  verbatim: "",
  crlf: "\n(line breaks were taken as CRLF, which all of the file has)",
  lf: "\n(CRLF was taken as LF, which all of the file has)",
  mixed: "\n(the file has LF and CRLF: the new text got the line breaks of the text it replaced)",
};

function confirmation({ path, replacements, lines, eol }: EditReport, { plan }: Changed<Plan>): string {
  const times = replacements === 1 ? "1 replacement" : `${replacements} replacements`;
  const shown = lines.slice(0, LINES_SHOWN).join(", ") + (lines.length > LINES_SHOWN ? " …" : "");
  const breaks = plan.splices.some(({ bytes }) => bytes.includes(10)) || eol === "mixed";
  return `The file ${path} has been updated: ${times} at ${lines.length === 1 ? "line" : "lines"} ${shown}${
    breaks ? EOL_NOTE[eol] : ""
  }`;
}
