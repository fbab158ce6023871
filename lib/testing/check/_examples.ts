import { readHookFile } from "../../hooks/discover.ts";
import type { Asker } from "./asker.ts";
import type { Findings } from "./_findings.ts";

/** Plays the examples a hook carries, where it is a file of its own. */
export async function playExamples(_asker: Asker, _findings: Findings): Promise<void> {
  void readHookFile;
}
