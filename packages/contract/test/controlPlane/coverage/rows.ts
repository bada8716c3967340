import { DEPLOYMENT_ROWS } from './deployment.ts';
import { RESOURCE_SPEC_ROWS } from './resourceSpec.ts';
import type { Row } from './row.ts';
import { SERVICE_ROWS } from './service.ts';
import { SOURCE_CONFIG_ROWS } from './sourceConfigs.ts';

/** The coverage table: every row and rule of contract 000 with the tests that hold it. */
export const ROWS: readonly Row[] = [
  ...DEPLOYMENT_ROWS,
  ...SOURCE_CONFIG_ROWS,
  ...RESOURCE_SPEC_ROWS,
  ...SERVICE_ROWS,
];
