import assert from "node:assert/strict";
import { test } from "node:test";
import fixtures from "../../lib/cli/fixtures.ts";
import { noRecordings, recordings } from "../_data.ts";
import { place } from "../_place.ts";

const cassettes = recordings("cassettes");

test("all shared recordings become tapes on disk but the spliced one", {
  skip: noRecordings,
}, async () => {
  using w = place();
  const { out, code } = await w.call(fixtures, "import", cassettes!, "--json");
  assert.equal(code, 1);
  const outcomes: { file: string; refused?: string; tape?: string }[] = JSON.parse(out);
  const refused = outcomes.filter((outcome) => outcome.refused !== undefined).map(({ file }) => file.split("/").at(-1));
  assert.deepEqual(refused, ["README.md", "manifest.json", "spliced-message-start.chunks.txt"]);
  assert.equal(new Set(outcomes.flatMap(({ tape }) => tape ?? [])).size, 39);
  assert.equal((await w.call(fixtures, "scan")).code, 0);
});
