/** What a runner's own report (JUnit) says. */
import { readFileSync } from "node:fs";

export interface Count {
  passed: number;
  /** The name of each, and its message. */
  failed: string[];
  skipped: string[];
}

/** `runtime` stands before the name of each file. */
export function readReport(path: string, runtime: string): Count {
  const count: Count = { passed: 0, failed: [], skipped: [] };
  let report = "";
  try {
    report = readFileSync(path, "utf8");
  } catch {
    // A runner that died has no report: its exit code shows that.
  }
  for (const [, suite, cases] of report.matchAll(/<testsuite\b([^>]*)>([\s\S]*?)<\/testsuite>/g)) {
    const key = `${runtime} ${/ name="(?:\.\/)?([^"]*)"/.exec(suite!)![1]}`;
    for (const [, attributes, , body = ""] of cases!.matchAll(/<testcase\b([^>]*?)(\/>|>([\s\S]*?)<\/testcase>)/g)) {
      const name = `${key}: ${plain(/ name="([^"]*)"/.exec(attributes!)![1]!)}`;
      // What ran out of time has its message as an attribute alone.
      const fault = /<(?:failure|error)\b(?=(?:[^>]* message="([^"]*)")?)[^>]*>([^<]*)/.exec(body);
      if (/<skipped\b/.test(body)) count.skipped.push(name);
      else if (fault) {
        const why = plain(fault[2]!.trim() || fault[1] || "");
        count.failed.push([name, ...why.split("\n").slice(0, 12)].join("\n    "));
      } else count.passed++;
    }
  }
  return count;
}

function plain(xml: string): string {
  const signs: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&", "#10": "\n" };
  return xml.replace(/&(#?\w+);/g, (written, name) => signs[name] ?? written);
}
