import type { Extension } from "../../cli/kit/extension.ts";

export const chat: Extension = {
  name: "chat",
  commands: { chat: ["talk with an agent", () => import("./command.ts")] },
  needs: ["view"],
};
