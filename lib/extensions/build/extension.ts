import type { Extension } from "../../cli/kit/extension.ts";

export const build: Extension = {
  name: "build",
  commands: { build: ["make one file or one binary of an agent and its hooks", () => import("./command.ts")] },
};
