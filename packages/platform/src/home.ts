export { type HomeLock, lockHome } from './store/homeLock.ts';
export { loadApiKey } from './store/keyFiles.ts';
