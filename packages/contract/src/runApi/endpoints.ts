import { type Endpoint, RELATIVE, withCommon } from '../endpoint.ts';
import { ServerInfo, ServerOk } from './assistant.ts';
import { ASSISTANTS_ENDPOINTS } from './endpoints/assistants.ts';
import { FOLLOWED_RUNS_ENDPOINTS, RUNS_ENDPOINTS } from './endpoints/runs.ts';
import { THREAD_STATES_ENDPOINTS, THREADS_ENDPOINTS } from './endpoints/threads.ts';
import { FEEDBACK_ENDPOINTS } from './feedback.ts';
import { STORE_ENDPOINTS } from './store.ts';

const COMMON = { service: 'runApi', section: RELATIVE } as const;

/** Endpoints about the server itself. */
const SERVER_ENDPOINTS = withCommon(COMMON, {
  getOk: {
    method: 'GET',
    path: '/ok',
    response: ServerOk,
    success: 200,
    errors: [],
  },
  getInfo: {
    method: 'GET',
    path: '/info',
    response: ServerInfo,
    success: 200,
    errors: [],
  },
});

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
