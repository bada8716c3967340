import uPlot from 'uplot';

type Points = readonly (readonly [value: number, share: number])[];

const HEIGHT = 240;

drawCharts();
document.addEventListener('slipway:changed', drawCharts);

function drawCharts(): void {
  for (const figure of document.querySelectorAll<HTMLElement>('figure[data-chart]')) {
    if (figure.childElementCount === 0) draw(figure);
  }
}

function draw(figure: HTMLElement): void {
  const { chart = '{}', unit = '', title = '' } = figure.dataset;
  const { baseline, candidate } = JSON.parse(chart) as {
    readonly baseline: Points;
    readonly candidate: Points;
  };
  const colors = getComputedStyle(document.documentElement);
  const color = (name: string): string => colors.getPropertyValue(name).trim();
  const axis = {
    stroke: color('--quiet'),
    grid: { stroke: color('--line') },
    ticks: { stroke: color('--line') },
  };
  const series = (label: string, stroke: string, dash: number[]): uPlot.Series => ({
    label,
    stroke,
    dash,
    width: 2,
    spanGaps: true,
    points: { show: true, size: 5, fill: stroke },
    value: (_plot, value: number | null) => (value === null ? '–' : `${Math.round(value * 100)} %`),
  });
  const plot = new uPlot(
    {
      width: figure.clientWidth,
      height: HEIGHT,
      scales: { x: { time: false }, y: { range: [0, 1.02] } },
      series: [
        {
          label: unit === '' ? title : `${title} (${unit})`,
          value: (_plot, value: number | null) => (value === null ? '–' : String(value)),
        },
        series('baseline', color('--quiet'), [6, 4]),
        series('candidate', color('--accent'), []),
      ],
      axes: [
        axis,
        { ...axis, values: (_plot, ticks) => ticks.map((tick) => `${Math.round(tick * 100)} %`), size: 56 },
      ],
    },
    aligned(baseline, candidate),
    figure,
  );
  new ResizeObserver(() => plot.setSize({ width: figure.clientWidth, height: HEIGHT })).observe(figure);
}

/** uPlot needs one list of x values for both series. */
function aligned(baseline: Points, candidate: Points): uPlot.AlignedData {
  const values = [...new Set([...baseline, ...candidate].map(([value]) => value))].sort((a, b) => a - b);
  const shares = (points: Points): (number | null)[] => {
    // The last of several equal values has the share of all of them.
    const byValue = new Map(points);
    return values.map((value) => byValue.get(value) ?? null);
  };
  return [values, shares(baseline), shares(candidate)];
}
