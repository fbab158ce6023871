export { recorded } from "./recorded.ts";
export { tapeServer } from "./tape-server.ts";
