import type { CheckReport } from "../../../lib/testing/index.ts";
import type { HookReport } from "../../../lib/extensions/check/check-report.ts";

/** Real processes on a busy machine. */
export const SLOW = { timeout: 120_000 };

/** The report in `--json`: the hooks that were checked, and what could not be. */
export function reportIn(out: string) {
  const { items, ...rest } = JSON.parse(out) as { word: string; items: (HookReport & { word: string; why: string })[] };
  return {
    ...rest as Pick<CheckReport, "seed" | "runs" | "host"> & { word: string },
    hooks: items.filter(({ hook }) => hook !== undefined),
    problems: items.filter(({ word }) => word === "cannot run").map(({ why }) => why),
  };
}

export const GOOD = "#!/bin/sh\ncat > /dev/null\n";
export const LOOPS = '#!/bin/sh\ncat > /dev/null\necho \'{"decision":"block","reason":"more"}\'\n';
export const FEW = ["--runs", "4", "--seed", "7"];
