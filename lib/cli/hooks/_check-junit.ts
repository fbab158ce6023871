import { xml } from "../../tape/drift/report.ts";
import type { CheckReport, Finding, HookReport } from "../../testing/check/report.ts";

/** The report for JUnit readers: one test case for each hook and law; warnings are its output. */
export function checkJunit({ hooks, problems, seed }: CheckReport): string {
  const cases = hooks.flatMap(casesOf);
  const failures = cases.filter(({ failed }) => failed).length;
  const suite = `name="crochet hooks check" tests="${
    cases.length + problems.length
  }" failures="${failures}" errors="${problems.length}"`;
  return [
    `<?xml version="1.0" encoding="UTF-8"?>`,
    `<testsuites ${suite}>`,
    `  <testsuite ${suite}>`,
    `    <properties><property name="seed" value="${seed}"/></properties>`,
    ...problems.map((problem) =>
      `    <testcase classname="hooks" name="${xml(problem)}">\n      <error message="${
        xml(problem)
      }"/>\n    </testcase>`
    ),
    ...cases.map(({ text }) => text),
    `  </testsuite>`,
    `</testsuites>`,
    "",
  ].join("\n");
}

function casesOf({ hook, path, laws, findings, skipped }: HookReport): { text: string; failed: boolean }[] {
  const open = (law: string) => `    <testcase classname="${xml(path)}" name="${xml(`${hook}: ${law}`)}"`;
  if (skipped !== undefined && findings.length === 0) {
    return [{ text: `${open("all")}>\n      <skipped message="${xml(skipped)}"/>\n    </testcase>`, failed: false }];
  }
  // A hook that was not run was held only to what was found without running it.
  const held = skipped === undefined ? laws : laws.filter((law) => findings.some((finding) => finding.law === law));
  return held.map((law) => {
    const own = findings.filter((finding) => finding.law === law);
    if (own.length === 0) return { text: `${open(law)}/>`, failed: false };
    const parts = own.map((finding) =>
      finding.severity === "fault"
        ? `      <failure type="${xml(finding.code)}" message="${xml(finding.message)}">${
          xml(detail(finding))
        }</failure>`
        : `      <system-out>${xml(`warning: ${finding.message}\n${detail(finding)}`)}</system-out>`
    );
    const failed = own.some(({ severity }) => severity === "fault");
    return { text: [`${open(law)}>`, ...parts, "    </testcase>"].join("\n"), failed };
  });
}

function detail({ trace, reproduce, fix, counterexample }: Finding): string {
  const shown = trace?.length ? trace : counterexample === null ? [] : [JSON.stringify(counterexample)];
  return [...shown, `again: ${reproduce}`, `fix: ${fix}`].join("\n");
}
