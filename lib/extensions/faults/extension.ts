import type { Extension } from "../../cli/kit/extension.ts";

export const faults: Extension = {
  name: "faults",
  commands: {},
  gives: { faults: () => import("./replay-faults.ts") },
};
