export { type Fault, faultText, readFault } from "./fault.ts";
export { INVARIANTS } from "./invariants.ts";
export { faults } from "./schedules.ts";
export { searchFaults } from "./search-faults.ts";
export { underFaults } from "./under-faults.ts";
