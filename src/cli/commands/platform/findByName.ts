import { SlipwayError } from '../../../domain/errors.ts';

/**
 * The one of `all` that has this name, else the one that has this id.
 * @throws SlipwayError SLIPWAY_USAGE where there is none.
 */
export function findByName<T extends { readonly id: string }>(
  all: readonly T[],
  nameOrId: string,
  { kind, nameOf }: { readonly kind: string; readonly nameOf: (each: T) => string | null | undefined },
): T {
  const found = all.find((each) => nameOf(each) === nameOrId) ?? all.find(({ id }) => id === nameOrId);
  if (found !== undefined) return found;
  throw new SlipwayError('SLIPWAY_USAGE', `there is no ${kind} "${nameOrId}"`, {
    hint: `list them: slipway platform ${kind}s list`,
  });
}
