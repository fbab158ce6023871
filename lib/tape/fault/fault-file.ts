import { existsSync, readFileSync } from "node:fs";
import { type Fault, faultText, readFault } from "./fault.ts";

/** Faults that an agent once did not survive, kept beside its tape and tried again with every replay. */
export interface SavedFaults {
  /** Which invariant did not hold, and what was seen. */
  readonly broke: string;
  readonly faults: readonly Fault[];
}

/**
 * The faults that were kept for a tape; none where there is no file.
 *
 * @throws {TypeError} where the file cannot be read, naming it
 */
export function readFaultFile(path: string): SavedFaults[] {
  if (!existsSync(path)) return [];
  try {
    const list: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (!Array.isArray(list)) throw new TypeError("It is no list");
    return list.map(savedFaults);
  } catch (error) {
    throw new TypeError(
      `Cannot read ${path} as it is not what a search for faults writes: ${
        (error as Error).message
      }; mend it, or delete it and search again`,
    );
  }
}

function savedFaults(entry: unknown, i: number): SavedFaults {
  const { broke, faults } = (entry ?? {}) as { broke?: unknown; faults?: unknown };
  if (typeof broke !== "string") throw new TypeError(`Entry ${i + 1} has no text 'broke'`);
  if (!Array.isArray(faults) || faults.length === 0 || faults.some((fault) => typeof fault !== "string")) {
    throw new TypeError(`Entry ${i + 1} has no list 'faults' of texts as 'call 2, tool_use:Edit, delta 3: cut'`);
  }
  return { broke, faults: faults.map(readFault) };
}

/**
 * Adds faults to a fixture's file; the same ones are kept once.
 *
 * @throws {Error} where it cannot be written, with the faults: to find them has taken long
 */
export async function saveFaults(path: string, found: SavedFaults): Promise<void> {
  const text = (faults: readonly Fault[]) => faults.map(faultText);
  const kept = readFaultFile(path).filter(({ faults }) => text(faults).join() !== text(found.faults).join());
  const list = [...kept, found].map(({ broke, faults }) => ({ broke, faults: text(faults) }));
  const { writeWhole } = await import("../drafts.ts");
  try {
    writeWhole(path, `${JSON.stringify(list, null, 2)}\n`, { replace: true });
  } catch (error) {
    throw new Error(`${(error as Error).message}; found was '${text(found.faults).join("', '")}': ${found.broke}`);
  }
}
