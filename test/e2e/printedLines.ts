import { afterAll, expect } from 'vitest';

import { PROBLEMS } from './processes.ts';

// Every test file fails where a command printed a JSON line that its schema does not allow.
afterAll(() => expect(PROBLEMS).toEqual([]));
