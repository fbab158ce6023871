import type { UserPromptSubmitHook } from "crochet";

/** Tells the model how to reach the service, with the key. */
const withKey: UserPromptSubmitHook = () => ({
  action: "continue",
  context: `Use Authorization: Bearer ${process.env.GITHUB_TOKEN} to open issues`,
});
export default withKey;
