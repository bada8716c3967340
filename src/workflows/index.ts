/** The bundle's entry: every workflow that the worker knows, by its type's name. */
export { deployment } from './deployment/deployment.ts';
export { revisionPoller } from './deployment/revisionPoller.ts';
export { notice } from './notify/notice.ts';
export { promotion } from './promotion/promotion.ts';
export { promotionPlaces } from './promotion/promotionPlaces.ts';
export { promotionTurn } from './schedule/promotionTurn.ts';
export { release } from './release/release.ts';
export { rollback } from './rollback/rollback.ts';
export { target } from './target/targetWorkflow.ts';
