import type { Extension } from "../../cli/kit/extension.ts";

export const lab: Extension = {
  name: "lab",
  commands: {},
  needs: ["check"],
  gives: { testIn: () => import("./test-in.ts") },
};
