import type { Extension } from "../../cli/kit/extension.ts";

export const durable: Extension = {
  name: "durable",
  commands: { worker: ["serve agents to a durable engine", () => import("./worker.ts")] },
};
