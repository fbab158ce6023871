import type { Extension } from "../../cli/kit/extension.ts";

export const imports: Extension = {
  name: "import",
  commands: { "fixtures import": ["convert recordings of other tools to tapes", () => import("./command.ts")] },
  needs: ["tape"],
};
