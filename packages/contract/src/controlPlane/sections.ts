import { endpointsOf } from '../endpoint.ts';

/** Endpoints of contract 000's own table. */
export const ofContract = endpointsOf('controlPlane', 'contract 000, Endpoints');

/** Endpoints of the contract's public relative, which fill its gaps. */
export const ofRelative = endpointsOf('controlPlane', 'facts, The control plane in the wild');

/** Endpoints that neither has and a team that hosts its own needs. */
export const ofOurs = endpointsOf('controlPlane', 'ours, beyond the contract');
