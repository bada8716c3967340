import type { FilesDifference } from '../../../artifact/artifactFiles.ts';
import type { FieldDifference } from '../../../domain/release/fieldDifferences.ts';
import type { ReleaseDifference } from '../../../inspection/release/releaseDifference.ts';
import { sizeText } from '../../ui/text.ts';
import type { Style } from '../../ui/style.ts';

/** How two releases differ, for people. */
export function differenceLines(
  { from, to, configuration, files }: ReleaseDifference,
  style: Style,
): readonly string[] {
  const [one, other] = [from.past, to.past];
  return [
    `${style.strong(one.releaseId)} → ${style.strong(other.releaseId)} on ${style.strong(to.target)}`,
    `  commit    ${changeText(one.commit, other.commit)}`,
    `  artifact  ${changeText(one.artifact, other.artifact)}`,
    ...(typeof files === 'string' ? [`    ${style.warn(files)}`] : fileLines(files, style)),
    '  configuration',
    ...(typeof configuration === 'string'
      ? [`    ${style.warn(configuration)}`]
      : fieldLines(configuration, style)),
  ];
}

function changeText(from: string | null, to: string | null): string {
  return from === to ? `${from ?? 'none'}, the same` : `${from ?? 'none'} → ${to ?? 'none'}`;
}

function fileLines({ added, removed, changed }: FilesDifference, style: Style): string[] {
  const lines = [
    ...added.map(({ path, sizeBytes }) => style.good(`+ ${path} (${sizeText(sizeBytes)})`)),
    ...removed.map(({ path }) => style.bad(`- ${path}`)),
    ...changed.map(({ from, to }) => {
      const size = from.sizeBytes === to.sizeBytes ? '' : `${from.sizeBytes} → `;
      return style.warn(`~ ${to.path} (${size}${to.sizeBytes} bytes)`);
    }),
  ];
  return (lines.length === 0 ? ['no file differs'] : lines).map((line) => `    ${line}`);
}

/** Fields that differ, for people. */
export function fieldLines(fields: readonly FieldDifference[], style: Style): string[] {
  const lines = fields.map(({ path, from, to }) => {
    if (from === undefined) return style.good(`+ ${path}: ${shown(to)}`);
    if (to === undefined) return style.bad(`- ${path}: ${shown(from)}`);
    return style.warn(`~ ${path}: ${shown(from)} → ${shown(to)}`);
  });
  return (lines.length === 0 ? ['no field differs'] : lines).map((line) => `    ${line}`);
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
