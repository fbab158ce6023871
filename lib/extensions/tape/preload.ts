/**
 * Points the SDKs of a test process at the tapes of `recorded()`, before any module reads where its API is: `[test] preload`
 * of bunfig.toml, `setupFiles` of vitest, `node --import`, `deno test --preload`.
 */
import { fileURLToPath } from "node:url";
import { notePreload } from "../../testing/recording.ts";
import { openDesk } from "./desk.ts";

notePreload(fileURLToPath(import.meta.url));
await openDesk();
