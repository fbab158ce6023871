import type { Extension } from "../../cli/kit/extension.ts";

export const view: Extension = {
  name: "view",
  gives: { hookOrder: () => import("./hook-order.ts") },
  commands: { view: ["show a run as an HTML page", () => import("./command.ts")] },
};
