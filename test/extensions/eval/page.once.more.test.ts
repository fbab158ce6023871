import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, test } from "node:test";
import view from "../../../lib/extensions/view/command.ts";
import type { Summary } from "../../../lib/extensions/eval/summary.ts";
import { evalPage } from "../../../lib/extensions/eval/page.ts";
import { evaluated, tossed, tosser } from "./_tossed.ts";
import { atWork, worker } from "./_turns.ts";
import { scratch } from "../../_scratch.ts";
import { noBrowser } from "../../_needs.ts";
import { closeBrowser, isWhole, openFile } from "../view/_browser.ts";

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
    assert.equal(await page.textContent(".pill.bad"), "worse");
    assert.match(await page.textContent(".conclusion") ?? "", /worse on toss \(p 0\.016\), compared with old\.ts/);
    assert.deepEqual(await page.locator("dt").allTextContents(), ["old.ts", "now"], "before is above after");
    assert.deepEqual(await page.locator("dd strong").allTextContents(), ["4/4", "0/4"]);
    assert.deepEqual(await page.locator("dd .runs").allTextContents(), ["✓✓✓✓", "✗✗✗✗"]);
    assert.equal(await page.locator("a.run").count(), 8, "each run is a link");
    assert.match(await page.locator("a.run").last().getAttribute("aria-label") ?? "", /^run 4: it said bad, 1 calls$/);
    assert.match(await page.textContent("h2 .bad") ?? "", /worse \(p 0\.016\)/);
    const at = async (selector: string) => (await page.locator(selector).first().boundingBox())!;
    const [scale, between, rate] = [
      await at("path.scale"),
      await at("path.between >> nth=1"),
      await at("circle >> nth=1"),
    ];
    assert.ok(
      Math.abs(between.width / scale.width - 0.68) < 0.06,
      `0-68 % is drawn as ${between.width} of ${scale.width}`,
    );
    assert.ok(Math.abs(rate.x + rate.width / 2 - scale.x) < 2, "no run of 4 passed");
    await page.locator("section li a").first().click();
    await isWhole(page);
    assert.match(await page.textContent("#list") ?? "", /bad/);
    assert.deepEqual(trouble.filter((one) => !/^request file:.*eval-.*toss-now-1\.html$/.test(one)), []);
  },
);

test(
  "an eval that continues an earlier one links the runs of both, and draws no rate that it may not claim",
  options,
  async () => {
    const files = { "agent.ts": worker(), "late.ts": worker({ system: "You work late." }) };
    await atWork(files, async ({ evaluated, last, w }) => {
      await evaluated("agent.ts", "--runs", "6");
      await evaluated("late.ts", "--runs", "6", "--against", last());
      const { out } = await w.call(view, "last");
      const { page } = await openFile(out.trim());
      assert.deepEqual(await page.locator(".runs").allTextContents(), ["✓✓✓✓✓✓", "✓✓✓✓✓✓"]);
      assert.equal(await page.textContent("h2 span"), "0 fixed, 0 broken of 6");
      assert.match(await page.textContent("main") ?? "", /\d+ of \d+ calls paid[^]*--fresh/);
      assert.equal(await page.locator("circle").count(), 1, "the earlier eval was made fresh");
      assert.doesNotMatch(await page.locator("dd").last().textContent() ?? "", /%/);
      await page.locator("a.run").first().click();
      await isWhole(page);
      assert.match(await page.textContent("#list") ?? "", /done/);
    }, 3);
  },
);

const WIDTHS: readonly [width: number, scheme: "dark" | "light"][] = [[1200, "light"], [1200, "dark"], [400, "light"], [
  400,
  "dark",
]];

/** In the page: the least contrast of a run's square, and its least width. */
const LEAST_OF_RUNS = `(() => {
  const shade = (colour) => {
    const canvas = document.createElement("canvas").getContext("2d");
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((c) => (c / 255) ** 2.2);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const all = [...document.querySelectorAll(".run")].map((run) => {
    const { color, backgroundColor } = getComputedStyle(run);
    const [a, b] = [shade(color), shade(backgroundColor)];
    return [Math.max(a, b) / Math.min(a, b), run.getBoundingClientRect().width];
  });
  return [Math.min(...all.map(([one]) => one)), Math.min(...all.map(([, one]) => one))];
})()`;

test("the report is read at any width, in the dark and without colour", options, async () => {
  using w = await tossed("FPPL", ["a-fixture-with-quite-a-long-name-for-a-phone", "b"]);
  w.put({ "old.ts": tosser("P", "./") });
  await evaluated(w, "--against", "old.ts", "--runs", "10");
  const { out } = await w.call(view, "last");
  for (const [width, colorScheme] of WIDTHS) {
    const { page } = await openFile(out.trim(), "", { viewport: { width, height: 900 }, colorScheme });
    assert.ok(
      await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
      `${width} px need no scrolling`,
    );
    const [contrast, size] = await page.evaluate<readonly [number, number]>(LEAST_OF_RUNS);
    assert.ok(contrast >= 4.5 && size >= 24, `${width} ${colorScheme}: ${contrast}, ${size} px`);
    assert.match(await page.locator(".runs").last().textContent() ?? "", /^[✓✗?]+$/u);
    if (process.env.SHOTS) {
      await page.screenshot({ path: `${process.env.SHOTS}/${width}-${colorScheme}.png`, fullPage: true });
    }
  }
});

test("what a run or a grader says never becomes markup of the report", options, async () => {
  using folder = scratch();
  const evil = `"><img src=x onerror="alert(1)"><script>alert(2)</script>`;
  const cell = {
    passed: 0,
    runs: 1,
    interval: [0, 0.98],
    seconds: 1,
    passAll: 0,
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
    paid: { calls: 2, tokens: 2, dollars: 0 },
    kept: { calls: 0, tokens: 0, dollars: 0 },
    spent: { tokens: 1 },
  };
  const path = `${folder.path}/report.html`;
  writeFileSync(
    path,
    evalPage(summary, [[[{
      ...{ round: 1, href: evil },
      line: {
        ...{ run: `${evil}/now/1`, pass: false, calls: 1, tokens: 1, ms: 1 },
        grades: [{ name: evil, pass: false, seen: evil }],
      },
    }]]]),
  );
  const { page, trouble } = await openFile(path);
  assert.equal(await page.locator("img, script").count(), 0);
  assert.match(await page.textContent("h2") ?? "", /<img src=x/);
  assert.deepEqual(trouble, []);
});
