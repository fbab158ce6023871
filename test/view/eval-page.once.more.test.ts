import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, test } from "node:test";
import view from "../../lib/cli/view.ts";
import type { Summary } from "../../lib/eval/compare.ts";
import { evalPage } from "../../lib/view/eval-page.ts";
import { evaluated, tossed, tosser } from "../eval/_tossed.ts";
import { scratch } from "../_scratch.ts";
import { noBrowser } from "../_needs.ts";
import { closeBrowser, isWhole, openFile } from "./_browser.ts";

after(closeBrowser);

const options = { skip: noBrowser };

test(
  "the report of an eval draws each interval, and a failed run is one click away from its page",
  options,
  async () => {
    using w = await tossed("FP");
    w.put({ "old.ts": tosser("P", "./") });
    await evaluated(w, "--against", "old.ts", "--runs", "6");
    const { code, out, err } = await w.call(view, "last");
    assert.equal(code, 0, err);
    const { page, trouble } = await openFile(out.trim());
    assert.match(await page.title(), /^eval \d{8}-/);
    assert.equal(await page.textContent(".pill"), "worse");
    assert.equal(await page.textContent(".conclusion"), "worse on toss (p 0.016), compared with old.ts");
    assert.deepEqual(await page.locator("thead th").allTextContents(), ["fixture", "now", "old.ts", ""]);
    assert.deepEqual(await page.locator("tbody strong").allTextContents(), ["0/4", "4/4"]);
    assert.match(await page.textContent("tbody td.bad") ?? "", /worse \(p 0\.016\)/);
    const at = async (selector: string) => (await page.locator(selector).first().boundingBox())!;
    const [scale, between, rate] = [await at("path.scale"), await at("path.between"), await at("circle")];
    assert.ok(
      Math.abs(between.width / scale.width - 0.68) < 0.06,
      `0-68 % is drawn as ${between.width} of ${scale.width}`,
    );
    assert.ok(Math.abs(rate.x + rate.width / 2 - scale.x) < 2, "no run of 4 passed");
    await page.locator("section a").first().click();
    await isWhole(page);
    assert.match(await page.textContent("#list") ?? "", /bad/);
    assert.deepEqual(trouble.filter((one) => !/^request file:.*eval-.*toss-now-1\.html$/.test(one)), []);
  },
);

test("what a run or a grader says never becomes markup of the report", options, async () => {
  using folder = scratch();
  const evil = `"><img src=x onerror="alert(1)"><script>alert(2)</script>`;
  const cell = {
    passed: 0,
    runs: 1,
    interval: [0, 0.98],
    seconds: 1,
    passAll: 0,
    passAllInterval: [0, 1],
    mean: { calls: 1, tokens: 1 },
    failures: [{ run: `${evil}/now/1`, name: evil, seen: evil }],
  } as const;
  const summary: Summary = {
    id: evil,
    conclusion: { is: "bad", badge: evil, words: evil },
    level: 0.95,
    variants: [evil],
    k: 1,
    rows: [{ fixture: evil, cells: [cell] }],
    ended: "done",
    part: 1,
    measured: true,
    unreached: [evil],
    reached: [],
    runs: 1,
    lostAttempts: 0,
    lost: 0,
    ungraded: 0,
    spent: { tokens: 1 },
  };
  const path = `${folder.path}/report.html`;
  writeFileSync(path, evalPage(summary, () => evil));
  const { page, trouble } = await openFile(path);
  assert.equal(await page.locator("img, script").count(), 0);
  assert.match(await page.textContent("tbody th") ?? "", /<img src=x/);
  assert.deepEqual(trouble, []);
});
