import type { HostName } from "../../hooks/hosts/index.ts";
import type { Api } from "./lab-model.ts";
import type { Script } from "./script.ts";

/** Where a session takes place, and what it is about. */
interface SessionPlace extends Pick<Script, "prompt" | "allowed"> {
  readonly project: string;
  readonly home: string;
  readonly url: string;
  readonly event: string;
}

/** How a session without a person is held in a host. */
export interface LabHost {
  readonly package: string;
  readonly program: string;
  readonly api: Api;
  readonly beside?: readonly string[];
  /** Whether the session is held with its server, as its command ends too early. */
  readonly serves?: boolean;
  readonly start: (place: SessionPlace) => {
    /** By their whole paths. */
    readonly files?: { readonly [path: string]: string };
    /** The words after the program, for each time that it is started. */
    readonly calls: readonly (readonly string[])[];
    readonly env?: { readonly [name: string]: string };
  };
}

const json = (value: unknown) => JSON.stringify(value);
const CLAUDE_TRUST = { hasTrustDialogAccepted: true };
const authBy = (selectedType: string) => ({ security: { auth: { selectedType } } });
const isCompact = (event: string) => event === "pre-compact" || event === "post-compact";

/** The hosts that can be got; those that may be missing here are on no registry. */
export const LAB_HOSTS: { readonly [H in HostName]?: LabHost } = {
  claude: {
    package: "@anthropic-ai/claude-code",
    program: "claude",
    api: "messages",
    start: ({ project, home, url, event, prompt, allowed }) => ({
      // As a person who answered its first questions has it.
      files: {
        [`${home}/.claude.json`]: json({ hasCompletedOnboarding: true, projects: { [project]: CLAUDE_TRUST } }),
      },
      calls: [
        // Some versions let a model decide about calls, unless they are given the mode.
        ["-p", prompt, "--permission-mode", "default", ...(allowed.length > 0 ? ["--allowedTools", ...allowed] : [])],
        ...(isCompact(event) ? [["--continue", "-p", "/compact"]] : []),
      ],
      env: {
        ...{ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "test" },
        ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1" },
      },
    }),
  },
  codex: {
    package: "@openai/codex",
    program: "codex",
    api: "responses",
    start: ({ project, home, url, event, prompt, allowed }) => {
      const folder = `${home}/.codex`;
      // It offers patches to models that it knows, and sub-agents to those that it does not.
      const patches = allowed.includes("Edit");
      const config = [
        `model = "${patches ? "gpt-5.5" : "gpt-5"}"\nmodel_provider = "test"`,
        // It reaches this after the one reply that says that it used more.
        ...(isCompact(event) ? ["model_auto_compact_token_limit = 1000"] : []),
        `[model_providers.test]\nname = "test"\nbase_url = ${json(url)}\nwire_api = "responses"`,
        `[projects.${json(project)}]\ntrust_level = "trusted"`,
      ];
      const skips = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];
      const agents = allowed.includes("Agent") ? ["--enable", "multi_agent"] : [];
      return {
        files: { [`${folder}/config.toml`]: `${config.join("\n")}\n` },
        calls: [["exec", ...skips, "--dangerously-bypass-hook-trust", ...agents, prompt]],
        env: { CODEX_HOME: folder },
      };
    },
  },
  gemini: {
    package: "@google/gemini-cli",
    program: "gemini",
    api: "gemini",
    start: ({ project, home, url, prompt }) => ({
      files: {
        [`${home}/.gemini/settings.json`]: json(authBy("gemini-api-key")),
        [`${home}/.gemini/trustedFolders.json`]: json({ [project]: "TRUST_FOLDER" }),
      },
      // Without --yolo it does not offer the shell.
      calls: [["-p", prompt, "--yolo", "-m", "gemini-2.5-flash"]],
      env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: "test" },
    }),
  },
  qwen: {
    package: "@qwen-code/qwen-code",
    program: "qwen",
    api: "chat",
    start: ({ project, home, url, prompt }) => ({
      files: {
        [`${home}/.qwen/settings.json`]: json(authBy("openai")),
        [`${home}/.qwen/trustedFolders.json`]: json({ [project]: "TRUST_FOLDER" }),
      },
      calls: [["-p", prompt, "--yolo"]],
      env: { OPENAI_BASE_URL: url, OPENAI_API_KEY: "test", OPENAI_MODEL: "m" },
    }),
  },
  copilot: {
    package: "@github/copilot",
    program: "copilot",
    api: "chat",
    start: ({ home, url, prompt }) => ({
      calls: [["-p", prompt, "--allow-all-tools", "--trust-folder"]],
      env: {
        ...{ COPILOT_PROVIDER_BASE_URL: url, COPILOT_MODEL: "m", COPILOT_OFFLINE: "true" },
        COPILOT_HOME: `${home}/.copilot`,
      },
    }),
  },
  opencode: {
    package: "opencode-ai",
    program: "opencode",
    api: "chat",
    serves: true,
    start: ({ project, url }) => {
      const models = { m: { name: "m", limit: { context: 100_000, output: 4_000 } } };
      const test = { npm: "@ai-sdk/openai-compatible", options: { baseURL: url, apiKey: "test" }, models };
      const config = { model: "test/m", small_model: "test/m", permission: "allow", provider: { test } };
      return {
        files: { [`${project}/opencode.json`]: json({ ...config, autoupdate: false, share: "disabled" }) },
        calls: [["serve", "--port", "0"]],
        env: { OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_AUTOUPDATE: "1" },
      };
    },
  },
  pi: {
    package: "@earendil-works/pi-coding-agent",
    // It needs a newer Node than a machine may have.
    beside: ["node@22"],
    program: "pi",
    api: "chat",
    start: ({ home, url, prompt }) => {
      const folder = `${home}/.pi/agent`;
      const provider = { baseUrl: url, api: "openai-completions", apiKey: "test", models: [{ id: "m" }] };
      return {
        files: { [`${folder}/models.json`]: json({ providers: { test: provider } }) },
        calls: [["-p", "--approve", "--provider", "test", "--model", "m", prompt]],
        env: { PI_OFFLINE: "1", PI_CODING_AGENT_DIR: folder },
      };
    },
  },
} satisfies { readonly [H in Exclude<HostName, "cursor" | "vscode">]: LabHost };
