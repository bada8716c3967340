import { formatDuration } from '../../../domain/duration.ts';
import {
  type ListedPreview,
  listPreviews,
  withStuckTasks,
} from '../../../temporal/client/preview/previewClient.ts';
import type { CommandContext } from '../../context.ts';
import { withTemporal } from '../../openTemporal.ts';
import type { Style } from '../../ui/style.ts';
import { type Cell, tableLines } from '../../ui/table.ts';

const HEADINGS = ['PULL REQUEST', 'PREVIEW', 'DEPLOYMENT', 'STATE', 'AGE', 'EXPIRES IN', 'ADDRESS'];

/** `slipway preview list`: prints the previews of the namespace, sorted by expiry. @returns the exit code. */
export async function listPreviewsOf(context: CommandContext): Promise<number> {
  const { output } = context;
  const previews = await withTemporal(context, async (temporal) =>
    withStuckTasks(temporal, await listPreviews(temporal)),
  );
  for (const preview of previews) output.event({ event: 'listed_preview', ...preview });
  if (previews.length === 0) output.print('There are no previews');
  else
    for (const line of previewLines(previews, output.style, output.columns(), Date.now())) output.print(line);
  return 0;
}

/** The table of previews, with problems below. */
export function previewLines(
  previews: readonly ListedPreview[],
  style: Style,
  columns: number,
  now: number,
): readonly string[] {
  const rows = previews.map(
    ({ pr, name, deployment, phase, createdAt, expiresAt, agentUrl, outcome }): Cell[] => [
      `#${pr}`,
      name,
      deployment,
      phase === 'removal_failed'
        ? { text: stateText(phase, outcome), paint: style.bad }
        : stateText(phase, outcome),
      sinceText(now - Date.parse(createdAt)),
      sinceText(Date.parse(expiresAt) - now),
      agentUrl ?? '',
    ],
  );
  return [
    ...tableLines(HEADINGS, rows, columns, style),
    ...previews.flatMap(({ pr, problem }) => (problem === null ? [] : [style.warn(`#${pr}: ${problem}`)])),
  ];
}

function stateText(phase: ListedPreview['phase'], outcome: ListedPreview['outcome']): string {
  const text = phase === 'idle' ? (outcome ?? 'idle') : phase;
  return text.replaceAll('_', ' ');
}

/** Rounded to seconds. */
function sinceText(ms: number): string {
  return formatDuration(Math.max(Math.round(ms / 1_000) * 1_000, 0));
}
