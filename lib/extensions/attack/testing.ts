export { attack, AttackError } from "./attack-agent.ts";
export type { AttackObserved } from "./properties.ts";
