import type { Extension } from "../cli/kit/extension.ts";
import { attack } from "./attack/extension.ts";
import { build } from "./build/extension.ts";
import { chat } from "./chat/extension.ts";
import { check } from "./check/extension.ts";
import { durable } from "./durable/extension.ts";
import { evals } from "./eval/extension.ts";
import { faults } from "./faults/extension.ts";
import { imports } from "./import/extension.ts";
import { lab } from "./lab/extension.ts";
import { monitor } from "./monitor/extension.ts";
import { sdks } from "./sdks/extension.ts";
import { setup } from "./setup/extension.ts";
import { tape } from "./tape/extension.ts";
import { view } from "./view/extension.ts";

/** The extensions that are here, in the order of `--help`. */
export const EXTENSIONS: readonly Extension[] = [
  chat,
  attack,
  evals,
  tape,
  imports,
  monitor,
  view,
  check,
  lab,
  setup,
  build,
  durable,
  faults,
  sdks,
];
