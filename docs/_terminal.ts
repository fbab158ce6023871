/** How a terminal of ours looks. */
const COLOURS: Record<number, string> = {
  30: "#5c6370",
  31: "#ff7b72",
  32: "#56c596",
  33: "#f0c674",
  34: "#7aa5f5",
  35: "#d19aee",
  36: "#5ccfe6",
  37: "#e6e4df",
  90: "#8b919c",
};

interface Look {
  colour?: string | undefined;
  bold?: boolean;
  dim?: boolean;
}

/** What a program wrote to a terminal as a page: its colours kept, what it wrote over gone. */
export function terminalPage(command: string, written: string): string {
  const lines = written.replaceAll("\r\n", "\n").split("\n").map((line) => line.slice(line.lastIndexOf("\r") + 1));
  return `<!doctype html><meta charset="utf-8"><style>
    body { margin: 0; padding: 0; background: #15171c; display: inline-block; }
    .frame { background: #15171c; border-radius: 12px; padding: 14px 20px 18px; }
    .dots { display: flex; gap: 7px; margin: 0 0 14px -4px; }
    .dots i { width: 11px; height: 11px; border-radius: 50%; background: #363b46; }
    pre { margin: 0; color: #e6e4df; font: 13.5px/1.55 "DejaVu Sans Mono", ui-monospace, monospace; white-space: pre-wrap; width: 108ch; }
    .prompt { color: #e0a282; }
  </style><div class="frame"><div class="dots"><i></i><i></i><i></i></div><pre><span class="prompt">$</span> <b>${
    escaped(command)
  }</b>\n${spans(lines.join("\n").trim())}</pre></div>`;
}

function spans(text: string): string {
  const look: Look = {};
  // deno-lint-ignore no-control-regex
  return text.split(/(\u001b\[[0-9;?]*[A-Za-z])/).map((part) => {
    // deno-lint-ignore no-control-regex
    const codes = /^\u001b\[([0-9;]*)m$/.exec(part);
    if (codes) { for (const code of codes[1]!.split(";")) change(look, Number(code)); }
    return part.startsWith("\u001b") || part === "" ? "" : `<span style="${styleOf(look)}">${escaped(part)}</span>`;
  }).join("");
}

function change(look: Look, code: number): void {
  if (code === 0) Object.assign(look, { colour: undefined, bold: false, dim: false });
  else if (code === 1) look.bold = true;
  else if (code === 2) look.dim = true;
  else if (code === 22) Object.assign(look, { bold: false, dim: false });
  else if (code === 39) look.colour = undefined;
  else look.colour = COLOURS[code] ?? look.colour;
}

function styleOf({ colour, bold, dim }: Look): string {
  return `${colour ? `color:${colour};` : ""}${bold ? "font-weight:700;" : ""}${dim ? "opacity:.62;" : ""}`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
}
