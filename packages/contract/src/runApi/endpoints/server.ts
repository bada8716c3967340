import type { Endpoint } from '../../endpoint.ts';
import { ServerInfo, ServerOk } from '../assistant.ts';
import { RELATIVE } from './origin.ts';

/** What the server tells of itself. */
export const SERVER_ENDPOINTS = {
  getOk: {
    service: 'runApi',
    method: 'GET',
    path: '/ok',
    response: ServerOk,
    success: 200,
    errors: [],
    section: RELATIVE,
  },
  getInfo: {
    service: 'runApi',
    method: 'GET',
    path: '/info',
    response: ServerInfo,
    success: 200,
    errors: [],
    section: RELATIVE,
  },
} as const satisfies Record<string, Endpoint>;
