/** One metric, in the form of both catalogues. */
export interface DocumentedMetric {
  readonly kind: 'counter' | 'histogram' | 'gauge';
  readonly help: string;
  readonly labels: Readonly<Record<string, readonly string[] | number>>;
}

/** The table does not list more values than this. */
const LISTED_MAX = 9;

/** The page's row for one metric, without padding: its name in Prometheus, type, unit, labels and meaning. */
export function metricRow(name: string, { kind, help, labels }: DocumentedMetric): string {
  const shown = kind === 'counter' ? `${name}_total` : name;
  const unit = name.endsWith('_seconds') ? 'seconds' : 'count';
  const bounds = Object.entries(labels).map(([label, allowed]) => `\`${label}\`: ${boundText(allowed)}`);
  const text = bounds.length === 0 ? 'none' : bounds.join('; ');
  return `| \`${shown}\` | ${kind} | ${unit} | ${text} | ${help} |`;
}

function boundText(allowed: readonly string[] | number): string {
  if (typeof allowed === 'number') return `at most ${allowed}`;
  return allowed.length > LISTED_MAX ? `one of ${allowed.length}` : allowed.join(', ');
}

export function withoutPadding(row: string): string {
  return row.replaceAll(/ +/g, ' ').trim();
}
