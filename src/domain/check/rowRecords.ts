import type { Instant } from '../scalars.ts';
import type { RowResult } from './dataset.ts';

/** The records of decided datasets. No target's name begins with `_`, so they collide with no release's. */
export const ROW_RESULTS = '_rows/';

/** The batches of results while rows are asked. A canceled check leaves them. */
export const ROWS_UNDER_WAY = '_rows_under_way/';

/** The rows of a dataset that have a result. It is JSON, so that another process can continue it. */
export interface DatasetProgress {
  readonly rows: readonly RowResult[];
  /** How long they took, in milliseconds. */
  readonly timeMs: number;
}

export interface RowBatch extends DatasetProgress {
  readonly at: Instant;
}

export const NO_ROWS: DatasetProgress = { rows: [], timeMs: 0 };
