import type { Measure } from "../peers.ts";

/** The figures as a Markdown table: contestants down, measures across, each with its ratio to the loop written by hand. */
export function table(measures: readonly Measure[], notes: string): string {
  const names = [...new Set(measures.flatMap((m) => Object.keys(m.found)))];
  const head = ["", ...measures.map((m) => m.unit === "" ? m.title : `${m.title} (${m.unit})`)];
  const rows = names.map((name) => [name === "crochet" ? "**crochet**" : name, ...measures.map((m) => cell(m, name))]);
  const lines = [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`);
  return `${
    lines.join("\n")
  }\n\n${notes}. Median; in brackets the ratio to the raw SDK. – gave up after two minutes, or has no such thing.\n`;
}

function cell({ found, unit }: Measure, name: string): string {
  const own = found[name];
  if (!own) return "–";
  const base = found["raw SDK"];
  const ratio = base && base.median > 0 && unit !== "" && name !== "raw SDK"
    ? ` (${(own.median / base.median).toFixed(2)}×)`
    : "";
  return `${number(own.median)}${ratio}`;
}

function number(value: number): string {
  return Number.isInteger(value) ? String(value) : value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
