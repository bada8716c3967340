import { afterAll, expect } from 'vitest';

import { PROBLEMS } from './processes.ts';

// A test file fails if a command printed a JSON line that does not match the schema.
afterAll(() => expect(PROBLEMS).toEqual([]));
