import { endpointsOf } from '../endpoint.ts';

/** Endpoints from contract 000's table. */
export const contract = endpointsOf('controlPlane', 'contract 000, Endpoints');

/** Endpoints of the public API that fill the contract's gaps. */
export const publicApi = endpointsOf('controlPlane', 'facts, The control plane in the wild');

/** Our own endpoints, for teams that host the platform. */
export const ours = endpointsOf('controlPlane', 'ours, beyond the contract');
