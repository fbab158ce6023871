import type { Measure } from "../peers.ts";

/** The figures as a Markdown table: measures down, contestants across, each with its ratio to the loop written by hand. */
export function table(measures: readonly Measure[], notes: string): string {
  const names = [...new Set(measures.flatMap((m) => Object.keys(m.found)))];
  const head = ["", ...names.map((name) => name === "crochet" ? "**crochet**" : name)];
  const rows = measures.map((m) => [
    m.unit === "" ? m.title : `${m.title}, ${m.unit}`,
    ...names.map((name) => cell(m, name)),
  ]);
  const lines = [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`);
  return `${
    lines.join("\n")
  }\n\nMedians on ${notes}; in brackets the ratio to the raw SDK. – took over two minutes, or has no such thing.\n`;
}

function cell({ found, unit }: Measure, name: string): string {
  const own = found[name];
  if (!own) return "–";
  const base = found["raw SDK"];
  const compared = base && base.median > 0 && unit !== "" && name !== "raw SDK";
  return `${number(own.median)}${compared ? ` (${(own.median / base.median).toFixed(2)}×)` : ""}`;
}

function number(value: number): string {
  return Number.isInteger(value) ? String(value) : value >= 100 ? value.toFixed(0) : value.toPrecision(2);
}
