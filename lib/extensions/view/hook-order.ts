import { listeners } from "../../core/dispatch.ts";
import { type EventName, EVENTS } from "../../core/events.ts";
import type { HookRecord } from "../../core/hook.ts";
import { narrowestName } from "../../core/names.ts";
import { kindWords } from "../../cli/kit/find-hooks.ts";
import { escapeHtml, reportPage } from "./html.ts";

const STYLE = `main h2{font-size:15px;margin-top:18px}
.order{display:flex;flex-wrap:wrap;gap:10px 30px;margin:6px 0 22px;padding:0;list-style:none}
.order li{position:relative;padding:7px 12px;border:1px solid var(--line);border-radius:8px;background:var(--card);overflow-wrap:anywhere}
.order .aside{border-style:dashed}.order .off{opacity:.5}.order p{font-size:12px;color:var(--soft)}
.order li+li::before{content:"→";position:absolute;left:-22px;color:var(--faint)}
@media (max-width:760px){.order{flex-direction:column}.order li+li::before{content:"";left:16px;top:-10px;height:10px;border-left:2px solid var(--faint)}}`;

/** The hooks of each event from left to right, as they are asked; on a phone from top to bottom. */
export default function hookOrder(whose: string, records: readonly HookRecord[]): string {
  const events = (Object.keys(EVENTS) as EventName[]).map((event) => ({ event, asked: listeners(records, event) }));
  return reportPage(`hooks of ${whose}`, [
    `<p class="soft">At each event they are asked in this order. Dashed: it sees what the others decided, and decides nothing.</p>`,
    ...events.filter(({ asked }) => asked.length > 0).map(({ event, asked }) =>
      `<h2>${event}</h2>\n<ol class="order">${asked.map((hook) => boxHtml(hook, event)).join("")}</ol>`
    ),
  ], STYLE);
}

function boxHtml(hook: HookRecord, event: EventName): string {
  const { name, on, matcher = "", priority, mode, enabled, source } = hook;
  const at = [...new Set(on.filter((one) => one.event === event).map(narrowestName))];
  const about = [
    matcher,
    at.includes(event) ? "" : at.join(" "),
    kindWords(hook),
    `priority ${priority}`,
    source,
    enabled ? "" : "off",
  ];
  const looks = [mode === "gate" ? "" : "aside", enabled ? "" : "off"].filter(Boolean).join(" ");
  return `<li class="${looks}"><strong>${escapeHtml(name)}</strong><p>${
    escapeHtml(about.filter(Boolean).join(" · "))
  }</p></li>`;
}
