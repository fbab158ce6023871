/** One unit: the CPU that this takes on a machine. What tests cost is told in units, so that a figure holds on each. */
import { spawnSync } from "node:child_process";
let sum = 0;
for (let i = 0; i < 120; i++) {
  const rows = Array.from({ length: 2000 }, (_, j) => ({ a: j, b: `x${(j * 7919 + i) % 9973}` }));
  sum += JSON.parse(JSON.stringify(rows)).filter((row: { b: string }) => /x\d*7\d?/.test(row.b)).length;
  rows.sort((a, b) => a.b < b.b ? -1 : 1);
}
for (let i = 0; i < 60; i++) {
  spawnSync(process.execPath, ["-e", "await import('node:http'); await import('node:crypto')"]);
  spawnSync("sh", ["-c", "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done"]);
}
console.log(sum);
