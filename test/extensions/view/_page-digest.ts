/** Prints a digest of the pages of a run and of two beside each other. */
import { createHash } from "node:crypto";
import { alignRuns } from "../../../lib/extensions/view/align.ts";
import { comparePage, runPage } from "../../../lib/extensions/view/html.ts";
import { viewOf } from "../../../lib/extensions/view/view-of-run.ts";
import { longRun } from "./_long-run.ts";
import { logOf } from "./_runs.ts";

const text = longRun(40, 120_000);
const [a, b] = [viewOf(logOf(text), "one"), viewOf(logOf(text.replaceAll("Step 4:", "Step four:")), "two")];
const pages = [runPage(a), comparePage(a, b, await alignRuns(a, b))];
console.log(createHash("sha256").update(pages.join("\n")).digest("hex"));
