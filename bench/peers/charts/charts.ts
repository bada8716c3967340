// Draws the results of `npm run bench -- peers` as SVG, for docs/capacity.md.
//
//   npm run bench -- charts [--from FILE] [--to FOLDER]
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { parse, View } from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';

import type { Measured } from '../measured.ts';

/** One bar, or one part of a bar. */
interface Bar {
  readonly system: string;
  readonly part: string;
  readonly value: number;
}

interface Chart {
  readonly file: string;
  readonly scenario: string;
  readonly title: string;
  readonly bars: (measured: Measured) => readonly Omit<Bar, 'system'>[];
}

const CHARTS: readonly Chart[] = [
  {
    file: 'idle',
    scenario: 'idle',
    title: 'One release on an idle machine: median over the bare script, in ms',
    bars: ({ overBareMs }) => (overBareMs === undefined ? [] : [{ part: 'over bare', value: overBareMs }]),
  },
  {
    file: 'at-once',
    scenario: 'at-once',
    title: '200 releases at once: releases per second',
    bars: ({ perSecond }) => (perSecond === undefined ? [] : [{ part: 'per second', value: perSecond }]),
  },
  {
    file: 'at-once-cpu',
    scenario: 'at-once',
    title: '200 releases at once: CPU of each, in ms',
    bars: ({ worker, server }) => sides(worker?.cpuMs, server?.cpuMs),
  },
  {
    file: 'parked-memory',
    scenario: 'parked',
    title: 'Releases that wait for their revisions: memory, in MiB',
    bars: ({ parked }) => sides(parked?.worker.memoryMiB, parked?.server.memoryMiB),
  },
  {
    file: 'killed-in-patch',
    scenario: 'killed-in-patch',
    title: 'Worker killed during the PATCH: median delay, in ms',
    bars: ({ summary }) => [{ part: 'later by', value: summary.medianMs }],
  },
];

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: fileURLToPath(new URL('../../results/peers.json', import.meta.url)) },
    to: { type: 'string', default: fileURLToPath(new URL('../../../docs/peers', import.meta.url)) },
  },
});
const { results } = JSON.parse(await readFile(values.from, 'utf8')) as {
  readonly results: readonly Measured[];
};
await mkdir(values.to, { recursive: true });
for (const { file, scenario, title, bars } of CHARTS) {
  const drawn = results
    .filter((measured) => measured.scenario === scenario)
    .flatMap((measured) => bars(measured).map((bar): Bar => ({ system: measured.system, ...bar })));
  if (drawn.length === 0) continue;
  const path = join(values.to, `${file}.svg`);
  await writeFile(path, await svg(title, drawn));
  process.stdout.write(`${path}\n`);
}

function sides(worker: number | undefined, server: number | undefined): readonly Omit<Bar, 'system'>[] {
  if (worker === undefined || server === undefined) return [];
  return [
    { part: 'worker', value: worker },
    { part: 'server', value: server },
  ];
}

/** Draws horizontal bars, one per system, in the order of the results. Slipway's is darker. */
async function svg(title: string, bars: readonly Bar[]): Promise<string> {
  const parts = [...new Set(bars.map(({ part }) => part))];
  const opacity = { condition: { test: "datum.system === 'slipway'", value: 1 }, value: 0.55 };
  const y = { field: 'system', type: 'nominal', sort: null, title: null } as const;
  const spec: TopLevelSpec = {
    title: { text: title, anchor: 'start' },
    width: 460,
    height: { step: 24 },
    background: 'white',
    padding: 12,
    config: {
      font: 'sans-serif',
      view: { stroke: null },
      axis: { grid: false, domain: false, ticks: false },
    },
    data: { values: [...bars] },
    layer: [
      {
        mark: 'bar',
        encoding: {
          y,
          x: { field: 'value', type: 'quantitative', title: null, axis: { grid: true } },
          color: {
            field: 'part',
            type: 'nominal',
            sort: parts,
            title: null,
            scale: { domain: parts, range: ['#0f766e', '#b45309'] },
            legend: parts.length === 1 ? null : { orient: 'bottom' },
          },
          order: { field: 'part', sort: 'descending' },
          opacity,
        },
      },
      {
        mark: { type: 'text', align: 'left', dx: 4 },
        encoding: {
          y,
          x: { aggregate: 'sum', field: 'value', type: 'quantitative' },
          text: { aggregate: 'sum', field: 'value', type: 'quantitative', format: ',.4~r' },
        },
      },
    ],
  };
  return new View(parse(compile(spec).spec), { renderer: 'none' }).toSVG();
}
