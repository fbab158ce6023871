export { importRecording } from "./import.ts";
