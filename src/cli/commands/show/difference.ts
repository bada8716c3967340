import type { FilesDifference } from '../../../artifact/artifactFiles.ts';
import { isSameArtifact } from '../../../domain/artifact/artifact.ts';
import { asText } from '../../../domain/check/answer.ts';
import { rowName } from '../../../domain/check/dataset.ts';
import type { FieldDifference } from '../../../domain/release/fieldDifferences.ts';
import type { ReleaseDifference, RowDifference } from '../../../inspection/release/releaseDifference.ts';
import { sizeText, type Style } from '../../ui/text.ts';

export function differenceLines(
  { from, to, configuration, files, rows }: ReleaseDifference,
  style: Style,
): readonly string[] {
  const [one, other] = [from.past, to.past];
  return [
    `${style.strong(one.releaseId)} → ${style.strong(other.releaseId)} on ${style.strong(to.target)}`,
    `  commit    ${changeText(one.commit, other.commit, one.commit === other.commit)}`,
    `  artifact  ${changeText(one.artifact, other.artifact, isSameArtifact(one.artifact, other.artifact))}`,
    ...(typeof files === 'string' ? [`    ${style.warn(files)}`] : fileLines(files, style)),
    '  configuration',
    ...(typeof configuration === 'string'
      ? [`    ${style.warn(configuration)}`]
      : fieldLines(configuration, style)),
    ...rows.flatMap((difference) => rowLines(difference, style)),
  ];
}

const ROWS_SHOWN = 50;

function rowLines(
  { check, from, to, fixed, broken, onlyFrom, onlyTo }: RowDifference,
  style: Style,
): readonly string[] {
  const counts = `${from.passed} of ${from.made} → ${to.passed} of ${to.made} rows passed`;
  const others = [
    ...(onlyFrom === 0 ? [] : [`${onlyFrom} rows were asked only before`]),
    ...(onlyTo === 0 ? [] : [`${onlyTo} rows are asked only now`]),
  ];
  const lines = [
    ...broken.map((row) => style.bad(`- ${rowName(row)} fails now: ${row.reasons.join('; ')}`)),
    ...fixed.map((row) => style.good(`+ ${rowName(row)} passes now`)),
  ];
  const more = lines.length - ROWS_SHOWN;
  return [
    `  rows of ${style.strong(check)}: ${counts}`,
    ...(lines.length === 0 ? ['no row changed sides'] : lines.slice(0, ROWS_SHOWN)).map(
      (line) => `    ${line}`,
    ),
    ...(more > 0 ? [`    and ${more} more rows changed sides: --json lists all`] : []),
    ...others.map((line) => `    ${line}`),
  ];
}

function changeText(from: string | null, to: string | null, isSame: boolean): string {
  return isSame ? `${from ?? 'none'}, the same` : `${from ?? 'none'} → ${to ?? 'none'}`;
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

export function fieldLines(fields: readonly FieldDifference[], style: Style): string[] {
  const lines = fields.map(({ path, from, to }) => {
    if (from === undefined) return style.good(`+ ${path}: ${asText(to)}`);
    if (to === undefined) return style.bad(`- ${path}: ${asText(from)}`);
    return style.warn(`~ ${path}: ${asText(from)} → ${asText(to)}`);
  });
  return (lines.length === 0 ? ['no field differs'] : lines).map((line) => `    ${line}`);
}
