import { HttpProblem } from '../../http/problem.ts';

/** 404 for a thread that the deployment lacks. */
export function threadNotFound(threadId: string): HttpProblem {
  return new HttpProblem(404, `Thread ${threadId} not found.`);
}

/** 409 for a new thread with the id that a run without a thread has: its checkpoints are removed with that run. */
export function threadTaken(threadId: string): HttpProblem {
  return new HttpProblem(409, `${threadId} is the thread id of a run without a thread: use another id.`);
}

/** 409 for a change that must not happen while a run is active on the thread. */
export function threadBusy(threadId: string): HttpProblem {
  return new HttpProblem(409, `Thread ${threadId} is busy with a run.`);
}
