import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { comparePage, pageAssets, runPage } from "../../../lib/extensions/view/html.ts";
import { viewOf } from "../../../lib/extensions/view/view-of-run.ts";
import { longRun } from "./_long-run.ts";
import { logOf } from "./_runs.ts";

const view = viewOf(logOf(longRun(40, 120_000)), "run long-run");

test("a page's policy allows its own script and style by hash, and nothing else", () => {
  for (const html of [runPage(view), comparePage(view, view, [])]) {
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)![1]!;
    const rules = Object.fromEntries(
      policy.split("; ").map((rule) => [rule.split(" ")[0], rule.slice(rule.indexOf(" ") + 1)]),
    );
    const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
    assert.equal(rules["default-src"], "'none'");
    assert.equal(rules["script-src"], hash(/<script>([\s\S]*?)<\/script>/.exec(html)![1]!));
    assert.equal(rules["style-src"], hash(/<style>([\s\S]*?)<\/style>/.exec(html)![1]!));
  }
});

test("a page never names anything outside itself", () => {
  const html = runPage(view);
  assert.equal(html.match(/<script/g)!.length, html.match(/<\/script>/g)!.length);
  assert.doesNotMatch(html, /<(link|img|iframe|object|embed|base)\b/i);
  assert.doesNotMatch(html, /\s(src|on\w+|style)=/i);
  assert.doesNotMatch(html.replaceAll("http://www.w3.org/2000/svg", ""), /https?:\/\//);
});

test("the page's modules join into one script without a name twice", () => {
  for (const entry of ["run.js", "compare.js"] as const) {
    const { script } = pageAssets(entry);
    assert.doesNotMatch(script, /^\s*(import|export)\b/m);
    new Function(script);
    // Two functions of one name are not an error to a parser: the later one would be called by both modules.
    const names = [...script.matchAll(/^(?:async )?(?:function\*?|class|const|let) (\w+)/gm)].map(([, name]) => name);
    assert.ok(names.length > 30);
    assert.deepEqual(names.filter((name, i) => names.indexOf(name) !== i), []);
  }
});

/** How far apart two colours are, from 1 to 21, as WCAG counts it. */
function contrast(...colours: [string, string]): number {
  const [bright, dark] = colours.map((colour) => {
    const parts = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255);
    const [r, g, b] = parts.map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
  }).sort((x, y) => y - x);
  return (bright! + 0.05) / (dark! + 0.05);
}

test("text can be read on whatever it stands, in light and in dark: no contrast is below 4.5", () => {
  const { style } = pageAssets("run.js");
  const named = [...style.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)];
  const colours = new Map(named.map(([, name, light, dark]) => [name!, [light!, dark!] as const]));
  const texts = ["ink", "soft", "faint", "accent", "model", "hook", "good", "bad", "denied"];
  const pairs = texts.flatMap((text) => ["paper", "card", "sunk"].map((ground) => [text, ground]));
  pairs.push(["good", "good-wash"], ["bad", "bad-wash"], ["denied", "denied-wash"], ["hook", "changed-wash"]);
  for (const [text, ground] of pairs) {
    for (const scheme of [0, 1] as const) {
      const found = contrast(colours.get(text!)![scheme], colours.get(ground!)![scheme]);
      assert.ok(found >= 4.5, `${text} on ${ground} has ${found.toFixed(2)} in ${scheme === 0 ? "light" : "dark"}`);
    }
  }
});

test("what a page needs first stands before its script, and everything long behind it", () => {
  const html = runPage(viewOf(logOf(longRun(400, 2_000_000)), "x"));
  const before = html.indexOf("<script>");
  assert.ok(before < 250_000, `${before} characters before the script of ${html.length}`);
  assert.ok(html.length - before > 500_000);
});
