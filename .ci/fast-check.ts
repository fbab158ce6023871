// All of fast-check: hooks are checked where nobody has installed it.
export * from "fast-check";
