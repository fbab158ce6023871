import { switchCommand } from "./_switch.ts";

export default switchCommand("disable");
