import { expect, it } from 'vitest';

import { MeasuresView, measureTexts } from '../../../src/dashboard/history/measuresView.tsx';
import { renderText } from '../../../src/dashboard/page/layout.tsx';
import { DEFINITIONS, measureDelivery } from '../../../src/domain/delivery/measures.ts';

const NONE = measureDelivery([], { from: 0, to: 1 });
const DAY_MS = 86_400_000;

it('each measure without enough data says so, why, and what it means', () => {
  const texts = measureTexts(NONE);
  expect(texts.map(({ figure }) => figure)).toEqual(Array(4).fill('Not enough data'));
  expect(texts.map(({ definition }) => definition)).toEqual(Object.values(DEFINITIONS));
  expect(texts[1]?.detail).toBe('No release ended "released" whose commit’s time is known.');
});

it('each measure shows the number of its releases', () => {
  const texts = measureTexts({
    deploymentFrequency: { state: 'measured', count: 3, perDay: 0.1 },
    leadTime: { state: 'measured', count: 2, unknown: 1, medianMs: 3_600_000, p90Ms: 3 * DAY_MS },
    changeFailureRate: { state: 'measured', count: 4, failed: 1, rate: 0.25 },
    timeToRestore: { state: 'measured', count: 1, medianMs: 90_000, p90Ms: 90_000 },
  });
  expect(texts.map(({ figure, detail }) => `${figure}: ${detail}`)).toEqual([
    '0.7 per week: 3 releases.',
    '1h00m: 2 releases. Nine of ten within 3.0 days. Of 1 release more the commit’s time is not known.',
    '25 %: 1 of 4 releases.',
    '1m30s: 1 restore.',
  ]);
});

it('draws a bar for each day, with the same data as a table, and no inline style', () => {
  const days = [
    { at: 0, released: 2, failed: 0 },
    { at: DAY_MS, released: 0, failed: 1 },
  ];
  const text = renderText(<MeasuresView measures={NONE} days={days} />);
  expect(text.match(/<rect /g)).toHaveLength(4);
  expect(text).toContain('<th scope="row">1970-01-02</th><td>0</td><td>1</td>');
  expect(text).not.toContain('style=');
});

it('draws only as many bars as are visible', () => {
  const days = Array.from({ length: 3_650 }, (_, index) => ({ at: index * DAY_MS, released: 1, failed: 0 }));
  const bars = renderText(<MeasuresView measures={NONE} days={days} />).match(/class="released"/g) ?? [];
  expect(bars.length).toBeLessThanOrEqual(90);
});
