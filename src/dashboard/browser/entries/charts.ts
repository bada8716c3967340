import { drawCharts } from '../charts.ts';

drawCharts();
document.addEventListener('slipway:changed', drawCharts);
