// Stores the histories that replay.test.ts replays: a few that together cover every path of the workflows. Run it and
// commit its result when workflow code is released. Keep older files, since workflows of their kind may still run.
//
//   npm run store:histories [-- NAME…]
//
// With names: only those, such as a new path of the workflows.
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';

import { bundleWorkflows, startTemporalServer } from '../support/temporalServer.ts';
import { openHarness } from './harness.ts';
import { HooksUnderTest } from './hooks/hooksUnderTest.ts';
import { ENDINGS } from './lives/endings.ts';
import { GUARDS } from './lives/guards.ts';
import { HOOKS } from './lives/hooks.ts';
import { MESSAGES } from './lives/messages.ts';
import { NOTICES } from './lives/notices.ts';
import { PREVIEWS } from './lives/previews.ts';
import { PROMOTIONS } from './lives/promotions.ts';
import { PreviewsUnderTest } from './preview/previewUnderTest.ts';
import { PromotionsUnderTest } from './promotion/promotionsUnderTest.ts';

const FOLDER = fileURLToPath(new URL('../histories/', import.meta.url));

const wanted = process.argv.slice(2);
const server = await startTemporalServer();
try {
  const workflowBundle = await bundleWorkflows();
  await mkdir(FOLDER, { recursive: true });
  const lives = { ...ENDINGS, ...MESSAGES, ...PROMOTIONS, ...PREVIEWS, ...NOTICES, ...HOOKS, ...GUARDS };
  for (const [life, live] of Object.entries(lives)) {
    if (wanted.length > 0 && !wanted.includes(life)) continue;
    const harness = await openHarness({
      address: server.address,
      workflowBundle,
      taskQueue: 'slipway-histories',
      nameWorld: (number) => (number === 1 ? life : `${life}-${number}`),
    });
    const promotions = new PromotionsUnderTest(harness);
    const hooks = new HooksUnderTest(harness);
    const previews = new PreviewsUnderTest(harness);
    const target = await live(harness, promotions, hooks, previews);
    const histories = [
      ...((await target?.histories()) ?? []),
      ...(await promotions.histories()),
      ...(await hooks.histories()),
      ...(await previews.histories()),
    ];
    for (const [index, { workflowId, history }] of histories.entries()) {
      const kind = kindOf(workflowId);
      const json = { workflowId, history: withoutPlaces(JSON.parse(historyToJSON(history))) };
      await writeFile(`${FOLDER}${life}.${index}.${kind}.json`, `${JSON.stringify(json)}\n`);
    }
    for (const lived of harness.targets) await lived.terminate();
    await hooks.terminate();
    await harness.close();
  }
} finally {
  await server.close();
}

function kindOf(workflowId: string): string {
  if (workflowId.startsWith('notice:')) return 'notice';
  if (workflowId.startsWith('guard:')) return 'guard';
  if (workflowId.startsWith('preview:')) return 'preview';
  if (workflowId.startsWith('promotion:')) return 'promotion';
  if (workflowId.startsWith('promotion-places:')) return 'places';
  if (workflowId.startsWith('hook:')) return 'hook';
  if (workflowId.startsWith('turn-')) return 'turn';
  if (workflowId.startsWith('revision-poller:')) return 'poller';
  return /\/(?<kind>release|rollback)-\d+$/.exec(workflowId)?.groups?.['kind'] ?? 'target';
}

/** Removes what identifies the machine and does not affect a replay: stack traces. */
function withoutPlaces(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPlaces);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== 'stackTrace')
      .map(([name, field]) => [name, withoutPlaces(field)]),
  );
}
