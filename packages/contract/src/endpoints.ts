import { CONTROL_PLANE_ENDPOINTS } from './controlPlane/endpoints.ts';
import type { Endpoint } from './endpoint.ts';
import { RUN_API_ENDPOINTS } from './runApi/endpoints.ts';

/** Every endpoint of both contracts, and of what facts add to them, by name. */
export const ENDPOINTS = {
  ...CONTROL_PLANE_ENDPOINTS,
  ...RUN_API_ENDPOINTS,
} as const satisfies Record<string, Endpoint>;
