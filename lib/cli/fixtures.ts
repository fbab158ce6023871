import { type Actions, group } from "./kit/group.ts";

/** The actions on fixtures; each is loaded when called. */
const ACTIONS: Actions = {
  ls: [
    "list fixtures: what they were recorded from and what they contain",
    () => import("./fixtures/ls.ts"),
  ],
  show: ["print a tape as a conversation", () => import("./fixtures/show.ts")],
  add: ["make a fixture of a run that was made", () => import("./fixtures/add.ts")],
  scan: ["search fixtures for secrets; exit code 1 if one is found", () => import("./fixtures/scan.ts")],
};

export default group("fixtures", ACTIONS, { bare: "ls", example: "crochet fixtures" });
