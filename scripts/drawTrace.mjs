#!/usr/bin/env node
// Draws a trace as SVG: docs/trace.svg, from the spans that test/e2e/tracesAndLogs.test.ts received.
//
//   SLIPWAY_TRACE_FILE=trace.json npx vitest run --project nightly test/e2e/tracesAndLogs.test.ts
//   node scripts/drawTrace.mjs trace.json > docs/trace.svg
import { readFileSync } from 'node:fs';

const [file = ''] = process.argv.slice(2);
const spans = JSON.parse(readFileSync(file, 'utf8'));

const ROW = 18;
const NAMES = 500;
const BARS = 500;
const TOP = 48;
const POLLS = 3;
const COLORS = { slipway: '#7c5cd6', 'slipway-worker': '#2f7fd1', 'slipway-platform': '#2e9e6b' };

const from = Math.min(...spans.map(({ startMs }) => startMs));
const until = Math.max(...spans.map(({ endMs }) => endMs));
const rows = below('');
const height = TOP + rows.length * ROW + 8;
const scale = (ms) => (NAMES + ((ms - from) / (until - from)) * BARS).toFixed(1);

process.stdout
  .write(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${NAMES + BARS + 60} ${height}" role="img" aria-labelledby="title">
<title id="title">The trace of one release: ${spans.length} spans of the command, the worker and the platform</title>
<style>text{font:12px ui-monospace,monospace;fill:#3c3c43}.faint{fill:#7a7a85}.failed{fill:#c62828}line{stroke:#7a7a8555}@media(prefers-color-scheme:dark){text{fill:#dfdfd6}.faint{fill:#98989f}.failed{fill:#ff8a80}}</style>
${legend()}
${ticks()}
${rows.map(row).join('\n')}
</svg>
`);

/** A span's descendants in tree order, with their depths. */
function below(parent, depth = 0) {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const children = spans
    .filter(({ parentSpanId }) => (parent === '' ? !known.has(parentSpanId) : parentSpanId === parent))
    .toSorted((one, other) => one.startMs - other.startMs);
  return children.flatMap((span, index) => {
    const same = children.filter(({ name }) => name === span.name);
    const drawn = { ...span, depth, bars: [span] };
    if (same.length <= POLLS) return [drawn, ...below(span.spanId, depth + 1)];
    // A poll repeats one call: its repetitions share one row.
    const isFirst = children.findIndex(({ name }) => name === span.name) === index;
    return isFirst ? [{ ...drawn, bars: same, name: `${span.name} × ${same.length}` }] : [];
  });
}

function legend() {
  return Object.entries(COLORS)
    .map(
      ([service, color], index) =>
        `<rect x="${8 + index * 160}" y="8" width="10" height="10" rx="2" fill="${color}"/><text x="${24 + index * 160}" y="17">${service}</text>`,
    )
    .join('');
}

function ticks() {
  const seconds = (until - from) / 1_000;
  const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60].find((each) => seconds / each <= 6) ?? 60;
  return Array.from({ length: Math.floor(seconds / step) + 1 }, (_, index) => {
    const x = scale(from + index * step * 1_000);
    return `<line x1="${x}" x2="${x}" y1="36" y2="${height - 8}"/><text class="faint" x="${x}" y="32" text-anchor="middle">${Number((index * step).toFixed(1))} s</text>`;
  }).join('');
}

function row({ name, bars, depth, attributes, isError }, index) {
  const y = TOP + index * ROW;
  const step = attributes['slipway.step'] === undefined ? '' : ` (${attributes['slipway.step']})`;
  const text = escaped(`${name}${step}`);
  return `<text x="${8 + depth * 12}" y="${y + 9}"${isError ? ' class="failed"' : ''}>${text}</text>${bars.map((span) => bar(span, y)).join('')}`;
}

function bar({ service, startMs, endMs }, y) {
  const x = scale(startMs);
  const width = Math.max(1.5, Number(scale(endMs)) - Number(x)).toFixed(1);
  return `<rect x="${x}" y="${y}" width="${width}" height="11" rx="2" fill="${COLORS[service] ?? '#888'}"/>`;
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
