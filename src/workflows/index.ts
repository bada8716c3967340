/** The bundle's entry: every workflow that the worker knows, by its type's name. */
export { release } from './release.ts';
export { rollback } from './rollback.ts';
export { target } from './target.ts';
