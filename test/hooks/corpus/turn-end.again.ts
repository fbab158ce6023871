import type { TurnEndHook } from "crochet";

/** Starts a turn at the end of every turn. */
const again: TurnEndHook = (_event, ctx) => ctx.hookInput("Now do the next thing on your list");
export default again;
