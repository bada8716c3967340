import { ENDPOINT_ROWS } from './endpoints.ts';
import { GAP_ROWS } from './gaps.ts';
import { RESOURCE_ROWS } from './resources.ts';
import type { Row } from './row.ts';
import { RULE_ROWS } from './rules.ts';
import { STATE_ROWS } from './states.ts';
import { STREAM_ROWS } from './streams.ts';

/** The conformance table: every row of contract 001 with its check. */
export const ROWS: readonly Row[] = [
  ...RESOURCE_ROWS,
  ...STATE_ROWS,
  ...ENDPOINT_ROWS,
  ...STREAM_ROWS,
  ...RULE_ROWS,
  ...GAP_ROWS,
];
