import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import { hookOn } from "../../../lib/core/hook.ts";
import { alignRuns } from "../../../lib/extensions/view/align.ts";
import { requestView } from "../../../lib/extensions/view/drift.ts";
import hookOrder from "../../../lib/extensions/view/hook-order.ts";
import { comparePage, runPage } from "../../../lib/extensions/view/html.ts";
import { viewOf } from "../../../lib/extensions/view/view-of-run.ts";
import { noBrowser } from "../../_needs.ts";
import { scratch } from "../../_scratch.ts";
import { closeBrowser, open, openFile } from "./_browser.ts";
import { longRun } from "./_long-run.ts";
import { logOf, replayed } from "./_runs.ts";

const folder = scratch();
after(async () => {
  await closeBrowser();
  folder[Symbol.dispose]();
});

const options = { skip: noBrowser };
const LONG = longRun(2000, 3_000_000);
let long: string | undefined;
const longPage = () => long ??= runPage(viewOf(logOf(LONG), "run long-run"));

const PAPER = "getComputedStyle(document.body).backgroundColor";

/** Whether a reader sees it. */
async function isOnScreen(page: Page, selector: string): Promise<boolean> {
  const box = await page.locator(selector).boundingBox();
  return box !== null && box.y + box.height > 100 && box.y < page.viewportSize()!.height;
}

test("a click on the timeline or the chart goes to its row, and the address says which", options, async () => {
  const { page } = await open(longPage());
  await page.locator("#chart [data-row]").nth(200).click();
  const key = await page.evaluate<string>("location.hash");
  assert.match(key, /^#call-\d+$/);
  assert.ok(await isOnScreen(page, key));
  await page.evaluate("scrollTo(0, 0)");
  await page.locator("#timeline .span.tool.bad").nth(5).click();
  const tool = await page.evaluate<string>("location.hash");
  assert.match(tool, /^#tool-\d+$/);
  assert.ok(await isOnScreen(page, tool));
  assert.ok(await page.locator(`${tool}.selected.bad`).count());
});

test("a deep link opens a long run at its row", options, async () => {
  const { page, trouble } = await open(longPage(), "#call-1500");
  assert.match(await page.textContent("#call-1500") ?? "", /Step 1499:/);
  assert.ok(await isOnScreen(page, "#call-1500"));
  await page.evaluate("location.hash = '#tool-7'");
  await page.waitForSelector("#tool-7.selected");
  assert.ok(await isOnScreen(page, "#tool-7"));
  assert.deepEqual(trouble, []);
});

test("the browser's own find reaches a text in a closed row of a long run", options, async () => {
  const view = viewOf(
    logOf(LONG.replace(/("toolu_1807","name":"Grep","outcome":"success","content":".{80})/, "$1crocheted ")),
    "",
  );
  assert.equal(view.rows.find(({ key }) => key === "tool-1808")?.open, false);
  const { page } = await open(runPage(view));
  assert.equal(await page.evaluate("find('crocheted')"), true);
  assert.equal(await page.evaluate("find('crotcheted')"), false);
});

test(
  "keys walk the rows, open them and show what they are",
  options,
  async () => {
    const { page } = await open(runPage(await replayed("keep-going")));
    const selected = () => page.locator(".row.selected").getAttribute("id");
    for (const key of ["j", "j", "j"]) await page.keyboard.press(key);
    assert.equal(await selected(), "tool-1");
    assert.equal(await page.locator("#tool-1 .body").isVisible(), false);
    await page.keyboard.press("o");
    assert.equal(await page.locator("#tool-1 .body").isVisible(), true);
    assert.match(await page.textContent("#tool-1 .body") ?? "", /Helo, world/);
    await page.keyboard.press("k");
    assert.equal(await selected(), "call-1");
    await page.keyboard.press("e");
    assert.equal(await selected(), "tool-2");
    await page.keyboard.press("x");
    assert.equal(await selected(), "tool-3");
    await page.keyboard.press("?");
    assert.ok(await page.locator("#help").isVisible());
    await page.keyboard.press("3");
    await page.keyboard.press("Escape");
    assert.ok(await page.locator("#help").isHidden());
    const tab = page.locator("#tabs [aria-selected=true]");
    assert.equal(await tab.textContent(), "Conversation", "no key works behind the list of keys");
    await page.keyboard.press("2");
    assert.match(await tab.textContent() ?? "", /^Edits/);
  },
);

test("the edits of a run are there as diffs", options, async () => {
  const { page } = await open(runPage(await replayed("keep-going")));
  await page.click("#tabs >> text=Edits");
  assert.equal(await page.locator(".row:visible").count(), 2);
  assert.equal(await page.locator(".hunk .removed").first().textContent(), 'echo "Helo, world"');
  assert.equal(await page.locator(".hunk .added").first().textContent(), 'echo "Hello, world"');
  assert.equal(await page.locator(".hunk .added").first().getAttribute("data-line"), "1");
});

test("filters leave out quiet hooks and other agents, and a link to a row brings it back", options, async () => {
  const { page } = await open(runPage(await replayed("delegate")));
  const shown = () => page.locator(".row:visible").count();
  const all = await shown();
  await page.check("#quiet");
  assert.ok(await shown() > all);
  await page.selectOption("#agent", "Count short.txt");
  assert.deepEqual(new Set(await page.locator(".row:visible .agent").allTextContents()), new Set(["Count short.txt"]));
  assert.ok(await shown() < all);
  await page.evaluate("location.hash = '#call-1'");
  await page.waitForSelector("#call-1.selected");
  assert.ok(await shown() > all, "quiet hooks are still there");
});

test("each hook's ledger says why it was skipped, and links to the call", options, async () => {
  const { page } = await open(runPage(await replayed("keep-going")));
  await page.keyboard.press("3");
  const hook = page.locator('[id="hook-pre-tool-use@Bash.no-delete.ts"]');
  assert.match(await hook.textContent() ?? "", /considered 5 times, ran 2, did something 1/);
  const why = hook.locator("li", { hasText: "matcher 'Bash' does not match 'Read'" });
  assert.equal(await why.count(), 1);
  await why.locator("a").first().click();
  await page.waitForSelector("#tool-1.selected");
  assert.ok(await isOnScreen(page, "#tool-1"));
  await page.goto(`${page.url().split("#")[0]}#hook-stop.change-log.ts`);
  await page.waitForSelector("#hooks:not([hidden]) .hook");
});

const ATTACK =
  `</script><script>window.hacked = 1; alert(1)</script><img src=x onerror="window.hacked = 2"><!--<script>`;

test("a text that is markup stays text everywhere: nothing runs, nothing is requested", options, async () => {
  const text = LONG.split("\n").slice(0, 60).join("\n").replaceAll("Port the parser", ATTACK.replaceAll('"', '\\"'))
    .replaceAll("stitch loop", ATTACK.replaceAll('"', '\\"')).replaceAll("no-delete.ts", ATTACK.replaceAll('"', '\\"'))
    .replaceAll("src/p", `<b>${ATTACK.replaceAll('"', '\\"')}`);
  const view = viewOf(logOf(text), ATTACK);
  const { page, trouble } = await open(runPage({ ...view, notes: [ATTACK] }));
  assert.equal(await page.textContent("h1"), view.title);
  for (const tab of ["1", "2", "3"]) {
    await page.keyboard.press(tab);
    assert.ok((await page.textContent("main") ?? "").includes("onerror="));
    assert.equal(await page.locator("main img, main script, main b b").count(), 0);
  }
  await page.locator("#timeline .span").first().hover();
  assert.equal(await page.evaluate("window.hacked"), undefined);
  assert.deepEqual(trouble, []);
});

test("a page is light or dark as the system is", options, async () => {
  const { page, trouble } = await open(runPage(await replayed("hello")), "", { colorScheme: "dark" });
  const dark = await page.evaluate<string>(PAPER);
  await page.emulateMedia({ colorScheme: "light" });
  assert.notEqual(await page.evaluate<string>(PAPER), dark);
  assert.deepEqual(trouble, []);
});

test("a page never scrolls sideways, however narrow the window", options, async () => {
  const { page } = await open(runPage(viewOf(logOf(LONG.split("\n").slice(0, 200).join("\n")), "x")));
  for (const width of [1280, 700, 360]) {
    await page.setViewportSize({ width, height: 800 });
    await page.waitForTimeout(100);
    const over = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
    assert.ok(over <= 0, `${over} pixels too wide at ${width}`);
  }
});

test(
  "a drift and an order of hooks are read on a phone: nothing is wider, and what differs is marked",
  options,
  async () => {
    const request = { model: "m", params: {}, tools: [{ name: "Read", about: "word ".repeat(80) }] };
    const messages = [{ role: "user", content: [{ type: "text", text: "hi" }] }] as const;
    const system = (tone: string) => [{ type: "text" as const, text: `You ${"long".repeat(60)}.\n${tone}` }];
    const a = requestView({ ...request, messages, system: system("Be strict.") }, "x", "recorded");
    const b = requestView({ ...request, messages, system: system("Be kind.") }, "x", "now", ["prompt: system differs"]);
    const size = { viewport: { width: 400, height: 800 } };
    const { page, trouble } = await open(comparePage(a, b, await alignRuns(a, b), "requests"), "", size);
    assert.equal(await page.textContent(".verdict"), "1 difference");
    const marked = "[...CSS.highlights.get('differs')].map(String)";
    assert.deepEqual(await page.evaluate<string[]>(marked), ["Be strict.", "Be kind."]);
    const [first, second] = await Promise.all(
      [0, 1].map((i) => page.locator(".pair.differs > *").nth(i).boundingBox()),
    );
    assert.ok(first!.width > 350 && second!.y >= first!.y + first!.height);
    const isWider = "document.documentElement.scrollWidth > innerWidth";
    assert.equal(await page.evaluate(isWider), false);
    const names = ["a".repeat(90), "stop.b.ts", "stop.c.ts"];
    const order = hookOrder("agent.ts", names.map((name) => hookOn("stop", () => undefined, { name })));
    const path = join(folder.path, "order.html");
    writeFileSync(path, order);
    const other = await openFile(path, "", size);
    assert.equal(await other.page.evaluate(isWider), false);
    const tops = "[...document.querySelectorAll('.order li')].map((box) => box.getBoundingClientRect().top)";
    const down = await other.page.evaluate<number[]>(tops);
    assert.ok(down[0]! < down[1]! && down[1]! < down[2]!, "one below the other");
    assert.deepEqual([...trouble, ...other.trouble], []);
  },
);

test("two runs are drawn beside each other, and a key leads from difference to difference", options, async () => {
  const text = longRun(300, 400_000);
  const other = text.replaceAll("Step 100:", "Step hundred:").replaceAll("make test-201", "make check-201");
  const [a, b] = [viewOf(logOf(text), "one"), viewOf(logOf(other), "two")];
  const { page, trouble } = await open(comparePage(a, b, await alignRuns(a, b)));
  assert.match(await page.textContent(".verdict") ?? "", /^2 differences$/);
  await page.keyboard.press("x");
  const sides = await page.locator(".pair.selected .row").allTextContents();
  assert.match(sides[0]!, /Step 100:/);
  assert.match(sides[1]!, /Step hundred:/);
  await page.keyboard.press("x");
  assert.match(await page.textContent(".pair.selected") ?? "", /make test-201.*make check-201/s);
  await page.keyboard.press("o");
  await page.waitForFunction("!document.querySelector('.pair.selected details.row-body[open]')");
  await page.locator(".pair.selected .row").first().locator(".line").click();
  await page.waitForFunction("document.querySelectorAll('.pair.selected details.row-body[open]').length === 2");
  await page.click("text=differences only");
  assert.equal(await page.locator(".pair:visible").count(), 2);
  await page.setViewportSize({ width: 400, height: 800 });
  const [first, second] = await Promise.all([0, 1].map((i) => page.locator(".pair.selected > *").nth(i).boundingBox()));
  assert.ok(first!.width > 350 && second!.y >= first!.y + first!.height, "at 400 px one side is below the other");
  const hash = await page.evaluate<string>("location.hash");
  assert.match(hash, /^#pair-\d+$/);
  assert.deepEqual(trouble, []);
});
