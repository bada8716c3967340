import { setWorkflowOptions } from '@temporalio/workflow';

import { release } from './release/release.ts';
import { rollback } from './rollback/rollback.ts';

/** Set by a worker that has a version (`worker.ts`), before the bundle runs: the server refuses a behavior from others. */
const { slipwayIsVersioned: isVersioned = false } = globalThis as { readonly slipwayIsVersioned?: boolean };

// Under Worker Versioning a release or a rollback ends on the version of the worker that it began on, whatever a newer
// version would do in its place. The others may last for weeks and change versions.
if (isVersioned) {
  setWorkflowOptions({ versioningBehavior: 'PINNED' }, release);
  setWorkflowOptions({ versioningBehavior: 'PINNED' }, rollback);
}

/** The bundle's entry: every workflow that the worker knows, by its type's name. */
export { deployment } from './deployment/deployment.ts';
export { revisionPoller } from './deployment/revisionPoller.ts';
export { notice } from './notify/notice.ts';
export { promotion } from './promotion/promotion.ts';
export { promotionPlaces } from './promotion/promotionPlaces.ts';
export { promotionTurn } from './schedule/promotionTurn.ts';
export { release, rollback };
export { target } from './target/targetWorkflow.ts';
