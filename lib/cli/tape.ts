import { type Actions, group } from "./_flags.ts";

/** What can be done with tapes of other programs; each is loaded only when it is asked for. */
const ACTIONS: Actions = {
  record: ["run any agent before the real API, and keep what it asked as a fixture", () => import("./tape/record.ts")],
  replay: [
    "run it again from its tape, without the network, and say what has changed",
    () => import("./tape/replay.ts"),
  ],
  serve: ["serve a tape to what is started elsewhere", () => import("./tape/serve.ts")],
};

export default group("tape", ACTIONS, { example: `crochet tape record --fixture typo -- claude -p "fix the typo"` });
