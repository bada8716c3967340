import pg from 'pg';
import { expect, it } from 'vitest';

import { parseByteaArray } from '../../src/agentServer/store/agentDatabase.ts';

it('reads arrays of bytes as `pg` does, in any dimensions', () => {
  const parse = new pg.TypeOverrides().getTypeParser(1001) as unknown as (text: string) => unknown;
  for (const text of [
    '{}',
    '{NULL}',
    String.raw`{"\\x","\\x00ff",NULL}`,
    String.raw`{{"\\x6f6b","\\x7b2c7d"},{NULL,"\\x4e554c4c"}}`,
  ])
    expect(parseByteaArray(text)).toEqual(parse(text));
});
