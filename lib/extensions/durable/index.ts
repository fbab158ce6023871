/** Runs that outlive their process: the questions that they wait with. */
export { answerQuestion, openQuestions } from "../../log/questions.ts";
