/** Where an endpoint comes from: the contract's own table. */
export const CONTRACT = 'contract 001, Endpoints';

/** Where an endpoint comes from: the contract's public relatives, whose client works here unchanged. */
export const RELATIVE = 'facts, The Run API in the wild';
