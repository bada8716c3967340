import { endpointsOf } from '../endpoint.ts';

/** Endpoints from contract 000's table. */
export const contract = endpointsOf('controlPlane', 'contract 000, Endpoints');

/** Endpoints of the public API that fill the contract's gaps. */
export const publicApi = endpointsOf('controlPlane', 'the public API');

/** Our own endpoints, for teams that host the platform. */
export const ours = endpointsOf('controlPlane', 'this platform, beyond the contract');
