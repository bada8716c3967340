import type { Metric } from './metrics.ts';

/** Replaces each label value that is not allowed with `other`. */
export type BoundLabels = (
  labels: Metric['labels'],
  given: Readonly<Record<string, string | undefined>>,
) => Record<string, string>;

const OTHER = 'other';
const LABEL_MAX_CHARACTERS = 100;

/** Limits the labels of one process: see {@link Metric.labels}. A label has the same values in all of its metrics. */
export function boundLabels(): BoundLabels {
  const seen = new Map<string, Set<string>>();
  const bounded = (label: string, allowed: readonly string[] | number, value: string): string => {
    if (typeof allowed !== 'number') return allowed.includes(value) ? value : OTHER;
    const values = seen.get(label) ?? new Set();
    seen.set(label, values);
    if (!values.has(value) && values.size >= allowed) return OTHER;
    values.add(value);
    return value.slice(0, LABEL_MAX_CHARACTERS);
  };
  return (labels, given) =>
    Object.fromEntries(
      Object.entries(labels).map(([label, allowed]) => [label, bounded(label, allowed, given[label] ?? '')]),
    );
}
