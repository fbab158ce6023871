import type { Extension } from "../../cli/kit/extension.ts";

export const attack: Extension = {
  name: "attack",
  commands: { attack: ["search for a run of the worst model that breaks a property", () => import("./command.ts")] },
  needs: ["check", "lab"],
  replay: () => import("./replay.ts"),
};
