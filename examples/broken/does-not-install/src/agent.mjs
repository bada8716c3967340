// What broke: package.json names an archive that is not in the source, so that installing fails before this is read.
import { phrases } from 'phrase-book';

export const graph = phrases;
