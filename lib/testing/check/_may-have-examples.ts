import { existsSync } from "node:fs";
import { sidecarsOf } from "../examples/sidecars.ts";
import type { Asker } from "./asking/asker.ts";

/** Whether examples of the hook are worth loading what plays them: its module has some, or a file beside it is named so. */
export function mayHaveExamples({ subject: { file }, loaded: { examples } }: Asker): boolean {
  return file !== undefined && (examples !== undefined || sidecarsOf(file).some((path) => existsSync(path)));
}
