import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

test("the figures of README.md and docs/compare.md are those that were measured", () => {
  const at = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const { measures } = JSON.parse(at("bench/results/peers.json")) as {
    measures: { title: string; found: Record<string, { median: number } | null> }[];
  };
  const names = ["crochet", "ai-sdk", "pi", "strands", "openai-agents", "mastra"];
  const row = (title: string, shown: (own: number, base: number) => string) => {
    const { found } = measures.find((m) => m.title === title)!;
    return names.map((name) => found[name] ? shown(found[name]!.median, found["raw SDK"]!.median) : "over two minutes");
  };
  const ratio = (own: number, base: number) => (own / base).toFixed(2);
  const pages = ["README.md", "docs/compare.md"];
  for (
    const figures of [
      row("cold start to first request", ratio),
      row("CPU per turn, 1000 turns, 2 KiB results", ratio),
      row("packages installed", String),
    ]
  ) {
    for (const page of pages) {
      assert.ok(at(page).includes(`| ${figures.join(" | ")} |`), `${page}: ${figures.join(" | ")}`);
    }
  }
});
