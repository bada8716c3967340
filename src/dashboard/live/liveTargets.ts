import type { ListedTarget } from '../../temporal/client/target/targetClient.ts';
import type { Viewer } from '../access/session.ts';
import type { Fragments, LivePage } from './liveRooms.ts';
import type { TargetSnapshot } from './targetWatch.ts';
import type { TargetWatches } from './targetWatches.ts';

const NEW_EVERY_MS = 5_000;

/**
 * A page that is rendered again from its targets' snapshots whenever one of them changes.
 * @param list - lists the present targets, for a page that shows all. Absent: the page shows only these.
 */
export async function liveTargets(
  watches: TargetWatches,
  targets: readonly ListedTarget[],
  render: (snapshots: readonly TargetSnapshot[], viewer: Viewer) => Fragments | Promise<Fragments>,
  list?: () => Promise<readonly ListedTarget[]>,
): Promise<LivePage> {
  await watches.snapshots(targets);
  let shown = targets;
  return {
    fragments: (viewer) => render(watches.current(shown), viewer),
    subscribe: (changed) => {
      const ends = new Map<string, () => void>();
      const follow = (): void => {
        for (const target of shown) {
          if (!ends.has(target.workflowId)) ends.set(target.workflowId, watches.subscribe(target, changed));
        }
      };
      const lookForNew = async (): Promise<void> => {
        const listed = (await list?.()) ?? shown;
        if (listed.every(({ workflowId }) => ends.has(workflowId))) return;
        shown = listed;
        follow();
        changed();
      };
      follow();
      // If Temporal does not answer, the targets' snapshots show it.
      const timer = setInterval(() => void lookForNew().catch(() => undefined), NEW_EVERY_MS);
      timer.unref();
      return () => {
        clearInterval(timer);
        for (const end of ends.values()) end();
        ends.clear();
      };
    },
  };
}
