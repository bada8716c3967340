import { type Endpoint, publicRunApi } from '../endpoint.ts';
import { ASSISTANTS_ENDPOINTS, ServerInfo, ServerOk } from './assistant.ts';
import { FEEDBACK_ENDPOINTS } from './feedback.ts';
import { FOLLOWED_RUNS_ENDPOINTS, RUNS_ENDPOINTS } from './run.ts';
import { STORE_ENDPOINTS } from './store.ts';
import { STREAM_ENDPOINTS } from './stream.ts';
import { THREAD_STATES_ENDPOINTS, THREADS_ENDPOINTS } from './thread.ts';

const SERVER_ENDPOINTS = {
  getOk: publicRunApi.get('/ok', ServerOk),
  getInfo: publicRunApi.get('/info', ServerInfo),
} as const;

/**
 * The endpoints of the Run API (contract 001, "Endpoints"), further ones of the public client, and the feedback
 * links. If the contract shows no status, it is that of the public servers: cancel answers 202 (204 with `wait=true`),
 * bulk cancel 204. An unknown resource is 404; a rejected run, a finished run to cancel and a taken thread id are 409.
 */
export const RUN_API_ENDPOINTS = {
  ...THREADS_ENDPOINTS,
  ...THREAD_STATES_ENDPOINTS,
  ...STREAM_ENDPOINTS,
  ...RUNS_ENDPOINTS,
  ...FOLLOWED_RUNS_ENDPOINTS,
  ...ASSISTANTS_ENDPOINTS,
  ...STORE_ENDPOINTS,
  ...SERVER_ENDPOINTS,
  ...FEEDBACK_ENDPOINTS,
} as const satisfies Record<string, Endpoint>;
