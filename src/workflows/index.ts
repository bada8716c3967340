import { setWorkflowOptions } from '@temporalio/workflow';

import { release } from './release/release.ts';
import { rollback } from './rollback/rollback.ts';

/** Set by a worker with a version (`worker.ts`). The server rejects a versioning behavior from others. */
const { slipwayIsVersioned: isVersioned = false } = globalThis as { readonly slipwayIsVersioned?: boolean };

// With Worker Versioning, a release or a rollback ends on the worker version on which it began. The other workflows
// may last for weeks and change versions.
if (isVersioned) {
  setWorkflowOptions({ versioningBehavior: 'PINNED' }, release);
  setWorkflowOptions({ versioningBehavior: 'PINNED' }, rollback);
}

/** The entry of the workflow bundle: every workflow that the worker runs, by its type's name. */
export { deployment } from './deployment/deployment.ts';
export { revisionPoller } from './deployment/revisionPoller.ts';
export { guard } from './guard/guard.ts';
export { hook } from './hooks/hook.ts';
export { notice } from './notify/notice.ts';
export { preview } from './preview/preview.ts';
export { promotion } from './promotion/promotion.ts';
export { promotionPlaces } from './promotion/promotionPlaces.ts';
export { promotionTurn } from './promotion/promotion.ts';
export { release, rollback };
export { target } from './target/targetWorkflow.ts';
