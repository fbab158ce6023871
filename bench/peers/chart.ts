import type { Measure } from "../peers.ts";

const SHOWN = [
  "cold start to first request",
  "CPU per turn, 1000 turns, 2 KiB results",
  "256 KiB of streamed tool input",
  "peak memory, 1000 turns, 2 KiB results",
];
const [WIDTH, LABEL, BAR, ROW, TOP] = [760, 120, 560, 18, 46];

/** Bars on a logarithmic scale, as times the loop written by hand; legible on light and dark ground. */
export function chart(measures: readonly Measure[], notes: string): string {
  const panels = SHOWN.flatMap((title) => measures.filter((m) => m.title === title));
  let y = TOP;
  const parts: string[] = [];
  for (const panel of panels) {
    const base = panel.found["raw SDK"]?.median ?? 1;
    const names = Object.keys(panel.found);
    const ratios = names.map((name) => panel.found[name] ? panel.found[name]!.median / base : undefined);
    const [low, high] = [Math.min(0.5, ...ratios.map((r) => r ?? 1)), Math.max(2, ...ratios.map((r) => r ?? 1))];
    const x = (ratio: number) => LABEL + BAR * Math.log(ratio / low) / Math.log(high / low);
    parts.push(text(LABEL, y + 4, panel.title, "title"));
    y += 14;
    const top = y;
    for (const [i, name] of names.entries()) {
      const ratio = ratios[i];
      parts.push(text(LABEL - 8, y + 12, name, name === "crochet" ? "own name" : "name"));
      if (ratio === undefined) parts.push(text(LABEL + 4, y + 12, "gave up", "quiet"));
      else {
        const width = Math.max(1, x(ratio) - LABEL).toFixed(1);
        parts.push(
          `<rect class="${name === "crochet" ? "own" : "bar"}" x="${LABEL}" y="${
            y + 3
          }" width="${width}" height="11" rx="2"/>`,
        );
        parts.push(text(LABEL + Number(width) + 5, y + 12, `${ratio.toFixed(2)}×`, "quiet"));
      }
      y += ROW;
    }
    parts.push(`<path class="one" d="M${x(1).toFixed(1)} ${top}V${y}"/>`);
    y += 26;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" role="img" aria-label="Crochet and other toolkits, as times a loop written by hand on the SDK">
<style>
text{font:12px system-ui,sans-serif;fill:#57606a}.title{font-weight:600;fill:#1f2328}.name,.own{text-anchor:end}text.own{font-weight:600;fill:#0969da}
.quiet{font-size:11px}.bar{fill:#afb8c1}rect.own{fill:#0969da}.one{stroke:#57606a;stroke-dasharray:2 3;fill:none}
@media(prefers-color-scheme:dark){text{fill:#8d96a0}.title{fill:#e6edf3}.bar{fill:#484f58}rect.own{fill:#4493f8}text.own{fill:#4493f8}}
</style>
${text(LABEL, 20, "times a loop written by hand on the SDK (dashed line), logarithmic; less is better", "quiet")}
${parts.join("\n")}
${text(LABEL, y - 4, notes, "quiet")}
</svg>
`;
}

function text(x: number, y: number, words: string, kind: string): string {
  return `<text x="${x.toFixed(1)}" y="${y}" class="${kind}">${
    words.replace(/&/g, "&amp;").replace(/</g, "&lt;")
  }</text>`;
}
