import { type Actions, group } from "./_flags.ts";

/** What can be done with fixtures; each is loaded only when it is asked for. */
const ACTIONS: Actions = {
  ls: [
    "the fixtures of this project, what they were recorded from and what they hold",
    () => import("./fixtures/ls.ts"),
  ],
  show: ["a tape as a conversation", () => import("./fixtures/show.ts")],
  import: ["make tapes of other tools' recordings", () => import("./fixtures/import.ts")],
  census: ["what the tapes cover of the API, and what they lack", () => import("./fixtures/census.ts")],
  scan: ["search fixtures for secrets; exit code 1 if one is found", () => import("./fixtures/scan.ts")],
};

export default group("fixtures", ACTIONS, { bare: "ls", example: "crochet fixtures" });
