import { SlipwayError } from '../../../domain/errors.ts';

/**
 * Where a promotion or its schedule is: where the file states, else at another of the file's targets, because the file may have
 * changed since. If it is at no other, the stated place.
 * @param stated - the error to throw then if the file states none.
 * @param several - the error if it is at several others, of which one is given.
 */
export async function placeOf<Place>(
  stated: Place | SlipwayError,
  isThere: (place: Place) => Promise<boolean>,
  elsewhere: () => Promise<readonly Place[]>,
  several: (place: Place) => SlipwayError,
): Promise<Place> {
  if (!(stated instanceof SlipwayError) && (await isThere(stated))) return stated;
  const [found, other] = await elsewhere();
  if (found !== undefined && other !== undefined) throw several(found);
  if (found !== undefined) return found;
  if (stated instanceof SlipwayError) throw stated;
  return stated;
}
