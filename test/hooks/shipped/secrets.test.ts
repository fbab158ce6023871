import assert from "node:assert/strict";
import { test } from "node:test";
import { shipped } from "./_shipped.ts";

const NAME = "pre-tool-use@Edit+Write.secrets.ts";
const letters = (n: number) => "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fI".repeat(3).slice(0, n);

/** Made here, so that no file holds what looks like one. */
const SECRETS = [
  ["-----BEGIN ", "RSA PRIVATE KEY-----"],
  ["-----BEGIN ", "PRIVATE KEY-----"],
  ["AK", "IA", "ABCDEFGHIJKLMNOP"],
  ["sk-", "ant-api03-", letters(40)],
  ["sk-", "proj-", letters(48)],
  ["gh", "p_", letters(36)],
  ["github", "_pat_", letters(60)],
  ["gl", "pat-", letters(20)],
  ["xo", "xb-", letters(30)],
  ["AI", "za", letters(35)],
  ["sk", "_live_", letters(24)],
  ["np", "m_", letters(36)],
  ["postgres://", "admin:hunter22@", "db.example.org/x"],
].map((parts) => parts.join(""));

test("secrets refuses to write what looks like a secret, wherever it stands in the call", async () => {
  const { call } = await shipped(NAME, "/p");
  for (const secret of SECRETS) {
    const write = await call("Write", { file_path: "/p/a.ts", content: `const key = "${secret}";\n` });
    assert.equal(write.decision, "deny", secret);
    assert.ok(!write.reason!.includes(secret), "the reason repeats the secret");
    const edit = await call("Edit", { file_path: "/p/a.ts", old_string: "x", new_string: secret });
    assert.equal(edit.decision, "deny", secret);
    const edits = [{ old_string: "x", new_string: "y" }, { old_string: "y", new_string: secret }];
    assert.equal((await call("MultiEdit", { file_path: "/p/a.ts", edits })).decision, "deny", secret);
  }
});

test("secrets lets a secret be taken out, and placeholders be written", async () => {
  const { call } = await shipped(NAME, "/p");
  const out = await call("Edit", { file_path: "/p/a.ts", old_string: SECRETS[3], new_string: "process.env.KEY" });
  assert.equal(out.decision, "continue");
  const edits = [{ old_string: SECRETS[3], new_string: "process.env.KEY" }];
  assert.equal((await call("MultiEdit", { file_path: "/p/a.ts", edits })).decision, "continue");
  for (
    const content of [
      "sk-ant-...",
      "postgres://user:$PASSWORD@host/db",
      "http://localhost:8080/a@b",
      "AKIA…",
      "ghp_xxx",
    ]
  ) {
    assert.equal((await call("Write", { file_path: "/p/a.ts", content })).decision, "continue", content);
  }
});
