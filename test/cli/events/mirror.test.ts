import { expect, it } from 'vitest';
import { z } from 'zod';

import { mirrorOf } from '../../../src/cli/events/mirror.ts';

interface Kept {
  readonly name: string;
  readonly note?: string;
  readonly parts: readonly { readonly at: string | null }[];
}

const parts = z.array(z.strictObject({ at: z.string().nullable() }));

it('a schema of the same fields is taken as it is', () => {
  const schema = z.strictObject({ name: z.string(), note: z.exactOptional(z.string()), parts });
  expect(mirrorOf<Kept>()(schema)).toBe(schema);
});

it('a schema that differs in any field does not compile', () => {
  const note = z.exactOptional(z.string());
  const missing = z.strictObject({ name: z.string(), parts });
  const inVain = z.strictObject({ name: z.string(), note, parts, more: note });
  const optional = z.strictObject({ name: note, note, parts });
  const required = z.strictObject({ name: z.string(), note: z.string(), parts });
  const nullable = z.strictObject({ name: z.string().nullable(), note, parts });
  const otherPart = z.strictObject({ name: z.string(), note, parts: z.array(z.strictObject({ at: note })) });
  const mirror = mirrorOf<Kept>();
  // @ts-expect-error -- a field is missing
  mirror(missing);
  // @ts-expect-error -- a field is there in vain
  mirror(inVain);
  // @ts-expect-error -- a field need not be there
  mirror(optional);
  // @ts-expect-error -- a field has to be there
  mirror(required);
  // @ts-expect-error -- a field may be null
  mirror(nullable);
  // @ts-expect-error -- a field of a part is another
  mirror(otherPart);
  // @ts-expect-error -- a word is missing
  expect(mirrorOf<'a' | 'b'>()(z.enum(['a']))).toBeDefined();
});
