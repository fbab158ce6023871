/** Runs that outlive their process: the questions that they wait with, and what engines are made of. */
export type { Engine, Step } from "../agent/engine.ts";
export { answerQuestion, type OpenQuestion, openQuestions } from "../log/questions.ts";
