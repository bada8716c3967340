import { endpointsOf, type Section } from '../endpoint.ts';

/** Endpoints from contract 000's table. */
export const contract: Section = endpointsOf('controlPlane', 'contract 000, Endpoints');

/** Endpoints of the public API that fill the contract's gaps. */
export const publicApi: Section = endpointsOf('controlPlane', 'the public API');

/** Our own endpoints, for teams that host the platform. */
export const ours: Section = endpointsOf('controlPlane', 'this platform, beyond the contract');
