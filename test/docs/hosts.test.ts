import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { hostsPage } from "../../docs/hosts.ts";
import { LAB_HOSTS } from "../../lib/extensions/lab/hosts.ts";
import { HOST_NAMES, HOSTS } from "../../lib/hooks/hosts/index.ts";
import { ROOT } from "./_reader.ts";

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

test("docs/hosts.md is what its script makes of the tables of hosts: bun run docs/hosts.ts", () => {
  assert.equal(read("docs/hosts.md"), hostsPage(), "docs/hosts.md");
});

for (
  const [page, list, known] of [
    ["README.md", /hooks install --for (.*)/, HOST_NAMES],
    ["docs/test-your-hooks.md", /\nHosts are (.*?);/, Object.keys(LAB_HOSTS)],
  ] as const
) {
  test(`${page} lists the hosts: all for which hooks are installed, or those in which they are tested`, () => {
    const listed = new Set(list.exec(read(page))![1]!.match(/\w+/g));
    assert.deepEqual(known.filter((host) => !listed.has(host)), [], page);
  });
}

test("a host without lists of hooks in its settings has an adapter", () => {
  const lacking = HOST_NAMES.filter((host) => !HOSTS[host].settings.lists).map((host) =>
    `lib/hooks/adapters/${host}.ts`
  )
    .filter((file) => !existsSync(join(ROOT, file)));
  assert.deepEqual(lacking, [], lacking.join(" "));
});
