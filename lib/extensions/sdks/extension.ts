import type { Extension } from "../../cli/kit/extension.ts";

/** Hooks for agents of other SDKs: the entry `crochet/hosts`. */
export const sdks: Extension = { name: "sdks", commands: {} };
