import assert from "node:assert/strict";
import { after, test } from "node:test";
import { runPage } from "../../../lib/extensions/view/html.ts";
import { noBrowser } from "../../_needs.ts";
import { closeBrowser, open } from "./_browser.ts";
import { replayed } from "./_runs.ts";

// In a file of its own, as Deno does not call `after` in a file with skipped tests.
after(closeBrowser);

test(
  "a page draws timeline, chart and conversation, asks for nothing, and says nothing on the console",
  { skip: noBrowser },
  async () => {
    const { page, trouble } = await open(runPage(await replayed("delegate")));
    assert.equal(await page.textContent("h1"), "How many lines do the two text files have together?");
    const kinds = await page.locator("#timeline .kind").allTextContents();
    assert.deepEqual([...new Set(kinds.map((text) => text.slice(0, 5)))], ["model", "tools", "hooks"]);
    const agents = await page.locator("#timeline .who").allTextContents();
    assert.equal(agents.length, 3, "a group of lanes an agent");
    assert.equal(await page.locator("#chart .bar-part.output").count(), 8, "a bar a call");
    assert.match(await page.textContent("#list") ?? "", /The two files have 4 lines together/);
    assert.match(await page.textContent("#list") ?? "", /Answer with a number in digits/);
    assert.deepEqual(trouble, []);
  },
);
