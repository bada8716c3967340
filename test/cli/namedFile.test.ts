import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { writeReport } from '../../src/cli/namedFile.ts';

it('a report that cannot be written is a usage error with the option to correct', async () => {
  const file = join(tmpdir(), 'slipway-no-such-folder', 'checks.xml');
  await expect(writeReport('--junit', file, '<testsuites/>')).rejects.toMatchObject({
    code: 'SLIPWAY_USAGE',
    message: 'the report could not be written: ENOENT: no such file or directory',
    place: file,
    hint: 'name another file with --junit',
  });
});
