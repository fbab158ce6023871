import { type AnthropicOptions, offlineWire, type Wire } from "../anthropic/model.ts";

const wires = new WeakMap<AnthropicOptions, Map<string, Wire>>();

/** One client for all replays that go to the same place in the same way. */
export function sharedWire(options: AnthropicOptions, url = ""): Wire {
  const known = wires.get(options) ?? new Map<string, Wire>();
  wires.set(options, known);
  const wire = known.get(url) ?? offlineWire({ ...options, ...(url !== "" && { baseURL: url }) });
  known.set(url, wire);
  return wire;
}
