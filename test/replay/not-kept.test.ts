import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { anthropic } from "../../lib/index.ts";
import { withEnv } from "../_env.ts";
import { record, runHere, tapeText, TEA } from "../_record.ts";
import { put, scratch } from "../_scratch.ts";

const KEYLESS = { ANTHROPIC_API_KEY: undefined, ANTHROPIC_AUTH_TOKEN: undefined, ANTHROPIC_BASE_URL: undefined };
const REFUSES = "export default () => { throw new Error('not today'); };";

test("a run that never reached a model is not kept, says why, and leaves no files for the next recording", async () => {
  const cases: [files: Record<string, string>, why: RegExp][] = [
    [{}, /^Cannot record \S+ as the model could not be called: .*set ANTHROPIC_API_KEY/],
    [
      { "hooks/stop.ts": "export default (" },
      /^Cannot record \S+ as the run failed before the model was called: Cannot load hook 'stop.ts'/,
    ],
  ];
  for (const [files, why] of cases) {
    using here = scratch({ ...TEA, ...files, "agent.ts": "" });
    await withEnv(
      KEYLESS,
      () => assert.rejects(record(here.path, { with: { model: anthropic() } }), ({ message }) => why.test(message)),
    );
    assert.equal(existsSync(join(here.path, "fixtures/fix-the-typo")), false);
  }
});

test("an update never puts a failure in the place of a run that went well", async () => {
  using here = scratch({ ...TEA, "agent.ts": "", "hooks/stop.ts": "export default () => undefined;\n" });
  await record(here.path);
  const before = tapeText(here.path);
  const refused = async (why: RegExp, asked: Parameters<typeof record>[1]) => {
    await assert.rejects(
      withEnv(KEYLESS, () => runHere(here.path, { mode: "update", ...asked })),
      ({ message }) => why.test(message),
    );
    assert.equal(tapeText(here.path), before);
  };
  const otherwise = { system: "You are very brief." };
  await refused(/^Cannot update \S+ as the model could not be called: /, {
    with: { ...otherwise, model: anthropic() },
  });
  await refused(/the run ended with an error, and the tape was not changed: Cannot call the model/, {
    replies: [],
    script: { then: { http: 400 } },
    with: otherwise,
  });
  put(here.path, { "hooks/user-prompt-submit.ts": REFUSES });
  await refused(
    /^Cannot update \S+ as the run ended with 'denied' before the model was called, and the tape was not changed \(.*\): .*not today/,
    {},
  );
});

test("a replay that has nowhere to work says which variable names the place", async () => {
  using here = scratch(TEA);
  await record(here.path);
  await withEnv({ TMPDIR: join(here.path, "none") }, () =>
    assert.rejects(
      runHere(here.path),
      /Cannot make a folder to work in as .*: let TMPDIR name one that may be written to/,
    ));
});
