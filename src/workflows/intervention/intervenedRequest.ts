import type { Standing } from '../../domain/intervention/intervention.ts';
import type { ReleaseRequest } from '../../domain/release/release.ts';
import type { Asked } from '../identity/proveIdentity.ts';

/** What of a request decides what may be said. */
export type IntervenedRequest = Pick<
  ReleaseRequest,
  'checks' | 'soakMs' | 'pauseMs' | 'freezes' | 'approval' | 'onError' | 'requestedBy'
> &
  Pick<Standing, 'called'> & {
    /** Whether a candidate is to be judged. */
    readonly judged?: boolean;
    /** The proof of who asked. Absent: there can be none. */
    readonly asked?: Asked;
    /** A schedule asked, and no person. */
    readonly scheduled?: boolean;
  };
