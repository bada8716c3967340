/** The bundle's entry: every workflow that the worker knows, by its type's name. */
export { deployment } from './deployment.ts';
export { notice } from './notice.ts';
export { promotion } from './promotion.ts';
export { promotionPlaces } from './promotionPlaces.ts';
export { promotionTurn } from './promotionTurn.ts';
export { release } from './release.ts';
export { rollback } from './rollback.ts';
export { target } from './target.ts';
