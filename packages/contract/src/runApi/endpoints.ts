import type { Endpoint } from '../endpoint.ts';
import { ASSISTANTS_ENDPOINTS } from './endpoints/assistants.ts';
import { FEEDBACK_ENDPOINTS } from './endpoints/feedback.ts';
import { FOLLOWED_RUNS_ENDPOINTS } from './endpoints/followedRuns.ts';
import { RUNS_ENDPOINTS } from './endpoints/runs.ts';
import { SERVER_ENDPOINTS } from './endpoints/server.ts';
import { STORE_ENDPOINTS } from './endpoints/store.ts';
import { THREADS_ENDPOINTS } from './endpoints/threads.ts';
import { THREAD_STATES_ENDPOINTS } from './endpoints/threadStates.ts';

/**
 * The endpoints of the Run API (contract 001, "Endpoints"), those that the public client uses beside them, and the
 * feedback links. Where the contract shows no status, facts decide: cancel answers 202 (204 with `wait=true`), bulk
 * cancel 204; something unknown is 404, a rejected run, a finished run to cancel and a taken thread id 409.
 */
export const RUN_API_ENDPOINTS = {
  ...THREADS_ENDPOINTS,
  ...THREAD_STATES_ENDPOINTS,
  ...RUNS_ENDPOINTS,
  ...FOLLOWED_RUNS_ENDPOINTS,
  ...ASSISTANTS_ENDPOINTS,
  ...STORE_ENDPOINTS,
  ...SERVER_ENDPOINTS,
  ...FEEDBACK_ENDPOINTS,
} as const satisfies Record<string, Endpoint>;
