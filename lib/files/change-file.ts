import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { type ToolContext, ToolError } from "../core/tool.ts";
import { commit, makeParents, type Original } from "./commit.ts";
import { confine, type FilePlace, readRegular, throwAs } from "./confine.ts";
import { withFileLock } from "./lock.ts";
import { changedSinceRead, recordRead } from "./read-record.ts";
import { pieces, type Splice } from "./splices.ts";
import { logChange, preImageOf } from "./undo-log.ts";

/** What a tool needs of its context to change a file. */
export type FileContext = Pick<ToolContext, "cwd" | "state" | "signal">;

export interface ChangeOptions<Plan> {
  /** "edit", "write": for error texts. */
  readonly verb: string;
  /** Whether a file that is not there is made, with its parents. @default false */
  readonly create?: boolean;
  /** Whether undo can take the change back. @default true */
  readonly undoable?: boolean;
  /** Whether the model knows all of the new bytes without reading them. @default false */
  readonly known?: boolean;
  /** What to change. Called with the file's bytes, inside its lock; a throw leaves everything as it is. */
  readonly plan: (bytes: Uint8Array | undefined, place: FilePlace) => Plan;
  /** Work on a plan that can be done while the system writes. */
  readonly meanwhile?: (bytes: Uint8Array | undefined, plan: Plan) => void;
}

export interface Changed<Plan> {
  readonly place: FilePlace;
  readonly plan: Plan;
  /** The old bytes; undefined for a new file. */
  readonly before: Uint8Array | undefined;
  /** Whether the bytes were other than those last read; undefined if the file was never read. */
  readonly changedSinceRead: boolean | undefined;
  /** The file has several names, so it was written in place. */
  readonly hardLinked: boolean;
  /** Why undo cannot take this back, if it cannot. */
  readonly notUndoable: string | undefined;
}

/**
 * The one way a tool changes a file: inside its lock read it, plan on the bytes it has now, and replace it if it is
 * still the same. When another program changed it meanwhile all of that is done once more, then given up.
 */
export async function changeFile<Plan extends { readonly splices: readonly Splice[] }>(
  path: string,
  context: FileContext,
  options: ChangeOptions<Plan>,
): Promise<Changed<Plan>> {
  const place = await confine(path, context);
  if (!place.exists && !options.create) throw notFound(place.path);
  if (!place.exists && place.path.endsWith("/")) {
    throw new ToolError(
      `Cannot ${options.verb} '${place.path}' as it names a directory: leave out the slash at its end`,
      { code: "is_directory" },
    );
  }
  return await withFileLock(place.real, context.signal, async () => {
    for (let attempt = 0; attempt < 2; attempt++) {
      const changed = await attemptChange(place, context, options);
      if (changed !== undefined) return changed;
    }
    throw new ToolError(`Cannot ${options.verb} '${place.path}' as another program keeps changing it: try again`, {
      code: "changed",
    });
  });
}

async function attemptChange<Plan extends { readonly splices: readonly Splice[] }>(
  place: FilePlace,
  context: FileContext,
  options: ChangeOptions<Plan>,
): Promise<Changed<Plan> | undefined> {
  const { verb, create = false, undoable = true, known = false, meanwhile } = options;
  const original = await readOriginal(place, verb, create);
  const before = original?.bytes;
  const plan = options.plan(before, place);
  const stale = before && changedSinceRead(context.state, place.real, before);
  context.signal.throwIfAborted();
  const preImage = undoable ? preImageOf(before) : undefined;
  const removeParents = original === undefined
    ? await makeParents(place.real).catch((e) => throwAs(verb, place, e))
    : undefined;
  let done: "done" | "changed" | undefined;
  try {
    done = await commit({
      real: place.real,
      original,
      splices: plan.splices,
      meanwhile: () => meanwhile?.(before, plan),
    });
  } catch (error) {
    throwAs(verb, place, error);
  } finally {
    if (done !== "done") await removeParents?.();
  }
  if (done === "changed") return undefined;
  if (preImage) {
    logChange(context.state, {
      path: place.path,
      real: place.real,
      cwd: context.cwd,
      before: preImage,
      splices: plan.splices,
    });
  }
  if (known || stale === false) recordRead(context.state, place.real, pieces(before ?? new Uint8Array(), plan.splices));
  return {
    place,
    plan,
    before,
    changedSinceRead: stale,
    hardLinked: original !== undefined && original.stat.nlink > 1,
    notUndoable: preImage?.kind === "dropped" ? preImage.why : undefined,
  };
}

const GIB = 2 ** 30;

/** Undefined if the file does not exist and may be created. */
async function readOriginal(place: FilePlace, verb: string, create: boolean): Promise<Original | undefined> {
  const { path, real } = place;
  try {
    const original = await readRegular(place, verb, GIB);
    const { mode } = original.stat;
    // The rename asks the directory alone, so a file that is not to be written has to be asked for itself.
    if ((mode & 0o222) === 0 || !await access(real, constants.W_OK).then(() => true, () => false)) {
      const why = `it is read-only: its mode is ${(mode & 0o7777).toString(8)}`;
      throw new ToolError(`Cannot ${verb} '${path}' as ${why}`, { code: "read_only" });
    }
    return original;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && create) return undefined;
    if (code === "ENOENT" || (code === "ENOTDIR" && !create)) throw notFound(path);
    throwAs(verb, place, error);
  }
}

function notFound(path: string): ToolError {
  return new ToolError(`File not found: '${path}' does not exist: find it with Glob, or make it with Write`, {
    code: "no_such_file",
  });
}
