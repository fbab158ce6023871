/** What a machine may lack: why tests are then skipped, and how to get it; false where it is there. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { openSandbox } from "../lib/permissions/sandbox.ts";

/** Chromium, which tests of pages start. */
export const browser: string | undefined = (process.env.PATH ?? "").split(delimiter).concat("/usr/bin")
  .flatMap((folder) => ["chromium", "chromium-browser", "google-chrome"].map((name) => join(folder, name)))
  .find(existsSync);

export const noBrowser: string | false = !browser &&
  "Chromium is not here: 'apt-get install chromium', or put it on PATH";

export const noSandbox: string | false = await openSandbox({ mode: "workspace", roots: [process.cwd()] }).then(
  () => false,
  () => "bubblewrap does not work here: 'apt-get install bubblewrap', on a Linux that lets users make namespaces",
);
