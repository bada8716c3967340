import { expect, it } from 'vitest';

import { WORKFLOW_TYPES } from '../../src/messages/workflowTypes.ts';
import * as workflows from '../../src/workflows/index.ts';

it('the bundle exports exactly the workflow types, under their names', () => {
  expect(Object.keys(workflows).sort()).toEqual(Object.values(WORKFLOW_TYPES).sort());
});
