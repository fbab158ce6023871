import type { Extension } from "../../cli/kit/extension.ts";

export const setup: Extension = {
  name: "setup",
  commands: {
    doctor: ["find what is broken or missing, and how to fix it", () => import("./doctor.ts")],
    init: ["scaffold an agent with a hook and a test", () => import("./init.ts")],
  },
};
