import type { RunGifts } from "../cli/kit/run-gifts.ts";

/** What is started for every event of another host, by the word before `hook`: it answers before anything is loaded. */
export const HOOK: { readonly [word: string]: (args: readonly string[]) => Promise<void> } = {
  agent: async (args) => (await import("./monitor/note.ts")).noteEvent(args, process.env),
};

/** What every run may ask for, so that it does not wait for the list. */
export const GIFTS: { readonly [gift in keyof RunGifts]?: () => Promise<{ readonly default: RunGifts[gift] }> } = {
  elsewhere: () => import("./durable/elsewhere.ts"),
  terminal: () => import("./view/terminal/watch.ts"),
  watch: () => import("./monitor/own-run.ts"),
};
